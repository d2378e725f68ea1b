/** Rules 4 to 6: whose turn it is, and what changes together. */
import { files, type Rule, withoutGuard, withoutUnique } from "./rule.ts";

/** Rules 4 to 6, each with its removal. */
export const turnRules: readonly Rule[] = [
  {
    id: "one-authorizing",
    number: 4,
    says: "At most one attempt is AUTHORIZING.",
    code: [
      {
        file: files.nextStep,
        find: 'const authorizing = attempts.find((attempt) => attempt.status === "AUTHORIZING");',
        replace: `const waiting = attempts.filter((attempt) => attempt.status === "AUTHORIZING");
  const authorizing = waiting.find((attempt) => attempt.id === moment.inHand) ?? waiting[0];`,
      },
      {
        file: files.nextStep,
        find: 'if (authorizing) return { type: "giveUpWaiting", attempt: authorizing };',
        replace: `const [to] = planLeft(session, attempts);
  if (authorizing && to && mayStillOpen(session, moment)) return { type: "open", to, because: "" };
  if (authorizing) return { type: "giveUpWaiting", attempt: authorizing };`,
      },
    ],
    database: [withoutUnique("attempt_one_authorizing"), withoutGuard("no end while an attempt is AUTHORIZING")],
  },
  {
    id: "end-voids-unknown",
    number: 5,
    says: "The transaction that ends a session gives every unknown attempt back.",
    code: [{ file: files.submitPayment, find: "          voidUnknown(tx, session.id);\n", replace: "" }],
    database: [withoutGuard("unknown attempts go to VOIDING with the winner or the end")],
  },
  {
    id: "end-with-event",
    number: 5,
    says: "The final status and its event are one transaction.",
    code: [
      {
        file: "src/core/settle.ts",
        find: "    tellMerchant(tx, core, session, eventOf[ending.status]),",
        replace: `    tx.afterCommit(() => {
      const tell = (later: Tx) => tellMerchant(later, core, session, eventOf[ending.status]);
      core.database.transaction(tell).catch(() => {});
    }),`,
      },
    ],
    database: [],
  },
  {
    id: "lease-epoch",
    number: 6,
    says: "A worker that was taken over changes nothing any more.",
    code: [
      {
        file: files.lease,
        find: `WHERE id = $1 AND lease_epoch = $2 AND phase = 'PROCESSING'\n    RETURNING \${returned}`,
        replace: `WHERE id = $1 AND $2::int IS NOT NULL AND phase = 'PROCESSING'\n    RETURNING \${returned}`,
      },
      {
        file: files.submitPayment,
        find: "    if (trail.session.leaseEpoch !== lease.epoch) return undefined;\n",
        replace: "",
      },
    ],
    database: [],
    coveredBy: ["conditional-move", "winner-once"],
    firstSeed: 2_000,
  },
  {
    id: "conditional-move",
    number: 6,
    says: "Every change of an attempt is conditional on the status that it was decided from.",
    code: [
      {
        file: files.attempts,
        find: "WHERE session_id = $1 AND id = $2 AND status = $3 RETURNING id",
        replace: "WHERE session_id = $1 AND id = $2 AND $3::text IS NOT NULL RETURNING id",
      },
    ],
    database: [
      {
        file: files.schema,
        find: "PERFORM app.refuse('illegal attempt transition ' || OLD.status || ' to ' || NEW.status)",
        replace: "NULL",
      },
    ],
    coveredBy: ["lease-epoch", "winner-once"],
    firstSeed: 2_000,
  },
  {
    id: "session-locked-first",
    number: 6,
    says: "Every transaction locks the session before it decides.",
    code: [
      {
        file: files.lease,
        find: `    UPDATE payment_session s
    SET lease_until = CASE WHEN lease_until > app.clock() + $4 * interval '1 ms' THEN lease_until
                      ELSE app.clock() + $3 * interval '1 ms' END,
        card_brand = coalesce($5, card_brand), card_last4 = coalesce($6, card_last4)
    WHERE id = $1 AND lease_epoch = $2 AND phase = 'PROCESSING'
    RETURNING \${returned}`,
        replace: `    SELECT \${returned} FROM payment_session s
    WHERE id = $1 AND lease_epoch = $2 AND phase = 'PROCESSING' AND ($3::int, $4::int, $5::text, $6::text) IS DISTINCT FROM NULL`,
      },
    ],
    database: [
      {
        file: files.schema,
        find: "FOR UPDATE;\n  IF session.status <> 'CREATED' OR",
        replace: ";\n  IF session.status <> 'CREATED' OR",
      },
      { file: files.schema, find: "FOR UPDATE;\n  IF (NEW.session_id", replace: ";\n  IF (NEW.session_id" },
    ],
    coveredBy: ["conditional-move", "winner-once"],
    harmless: "it keeps transactions from deadlocks; a worker that was overtaken in mid-transaction meets the others",
  },
];
