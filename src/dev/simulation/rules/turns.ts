/** Rules 4 to 6: the process whose turn it is, and the changes that are made together. */
import { files, type Rule, withoutGuard, withoutUnique, withText } from "./rule.ts";

export const turnRules: readonly Rule[] = [
  {
    id: "one-authorizing",
    number: 4,
    says: "At most one attempt is AUTHORIZING.",
    code: [
      {
        file: files.nextStep,
        instead: [
          `const waiting = attempts.filter((attempt) => attempt.status === "AUTHORIZING");
  const authorizing = waiting.find((attempt) => attempt.id === moment.unsentAttemptId) ?? waiting[0];`,
          `const [to] = planLeft(loaded);
  if (authorizing && to && mayStillOpen(session, moment)) return { type: "open", to, because: "" };
  if (authorizing) return { type: "markUnknown", attempt: authorizing };`,
        ],
      },
    ],
    database: [withoutUnique("attempt_one_authorizing"), withoutGuard("no end while an attempt is AUTHORIZING")],
    seenAt: 21,
  },
  {
    id: "end-voids-unknown",
    number: 5,
    says: "The transaction that ends a session voids every unknown attempt.",
    code: [{ file: files.submitPayment, instead: [""] }],
    database: [withoutGuard("unknown attempts go to VOIDING with the winner or the end")],
    seenAt: 16,
  },
  {
    id: "end-with-event",
    number: 5,
    says: "The final status and its event are one transaction.",
    code: [
      {
        file: "src/core/record/settle.ts",
        instead: [
          `tx.afterCommit(() => {
      const emit = (later: Tx) => emitEvent(later, core, session, eventOf[ending.status]);
      core.database.transaction(emit).catch(() => {});
    }),`,
        ],
      },
    ],
    database: [withText("captured", "  ended_at := at;", "  ended_at := at;\n  RETURN NEXT;\n  RETURN;")],
    seenAt: 1,
  },
  {
    id: "lease-epoch",
    number: 6,
    says: "A worker whose session was taken over changes nothing.",
    code: [
      {
        file: files.submitPayment,
        instead: [""],
      },
    ],
    database: [
      withText("held", "id = of_session AND lease_epoch = epoch AND", "id = of_session AND"),
      withText("failed", " AND lease_epoch = epoch"),
      withText("captured", " AND lease_epoch = epoch"),
      withText("lock_leased", " AND lease_epoch = epoch"),
      withText("renew_lease", " AND lease_epoch = epoch"),
    ],
    coveredBy: ["conditional-move", "winner-once"],
    seenAt: 10_921,
  },
  {
    id: "conditional-move",
    number: 6,
    says: "Every change of an attempt is conditional on the status that it was decided from.",
    code: [],
    database: [
      withText("move_attempt", " AND a.status = from_status"),
      withText("held", " AND status = 'AUTHORIZING'"),
      withText("failed", " AND status = 'AUTHORIZING'"),
      withText("captured", " AND status = 'AUTHORIZED'"),
      withoutGuard("illegal attempt transition "),
    ],
    coveredBy: ["lease-epoch", "winner-once"],
    seenAt: 10_921,
  },
  {
    id: "session-locked-first",
    number: 6,
    says: "Every transaction locks the session before it decides.",
    code: [],
    database: [
      withText("lock_leased", " FOR UPDATE"),
      withText("renew_lease", "WHERE id =", "WHERE false AND id ="),
      withText(
        "renew_lease",
        "RETURNING *",
        "; SELECT * FROM payment_session WHERE id = of_session AND lease_epoch = epoch AND phase = 'PROCESSING'",
      ),
      { type: "lock", guard: "partitions.guard_attempt_rest" },
    ],
    coveredBy: ["conditional-move", "winner-once"],
    unseen: "it keeps transactions from deadlocks; a worker that was overtaken in mid-transaction meets the others",
  },
];
