import { files, type Rule, withoutGuard, withoutUnique, withText } from "./rule.ts";

/** Rules 1 to 3, each with its removal. */
export const captureRules: readonly Rule[] = [
  {
    id: "winner-once",
    number: 1,
    says: "The winner is named by compare-and-set from none.",
    code: [],
    database: [
      withText("held", " AND winner_attempt_id IS NULL"),
      withText("name_winner", " AND winner_attempt_id IS NULL"),
      withoutGuard("a winner is named from null only"),
      withoutGuard("a hold is adopted only while CREATED and without a winner"),
      withoutGuard("an authorized attempt is the winner"),
      withoutUnique("attempt_one_capturable"),
    ],
    coveredBy: ["lease-epoch", "conditional-move"],
    harm: "captured",
    unseen: "a second winner would need two more walls to be gone: the index and the guard that came first",
  },
  {
    id: "winner-voids-unknown",
    number: 1,
    says: "The transaction that names the winner voids every unknown attempt.",
    code: [
      {
        file: files.attempts,
        instead: [""],
      },
    ],
    database: [
      withText("held", "IF a.has_unknown THEN", "IF false THEN"),
      withoutGuard("unknown attempts go to VOIDING with the winner or the end"),
    ],
    seenAt: 5,
  },
  {
    id: "capture-ordered-first",
    number: 2,
    says: "The order to capture is committed before the capture is sent.",
    code: [
      {
        file: files.nextStep,
        instead: [""],
      },
    ],
    database: [
      withText("held", "capture_ordered_at = at, captured_amount_minor = amount_minor, "),
      withoutGuard("only an ordered capture is CAPTURED"),
    ],
  },
  {
    id: "capture-never-given-up",
    number: 2,
    says: "An unanswered capture is repeated until the gateway answers it.",
    code: [
      {
        file: files.flowSteps,
        instead: [
          `{
        const next = await lockAndDecide(tx, work, attempt, { kind: "GATEWAY_ERROR", captureRefused: true });
        return recordCaptureRefused(tx, attempt, "no answer", next);
      }`,
        ],
      },
    ],
    database: [],
    coveredBy: ["former-winner-waits"],
    seenAt: 98,
  },
  {
    id: "former-winner-waits",
    number: 3,
    says: "Nothing else happens while a former winner may still turn out captured.",
    code: [
      {
        file: files.nextStep,
        instead: [""],
      },
    ],
    database: [
      withoutUnique("attempt_one_capturable"),
      withoutGuard("no end without a capture while one may still land"),
    ],
    seenAt: 30,
  },
  {
    id: "landed-capture-adopted",
    number: 3,
    says: "A former winner whose capture had landed after all ends the session as SUCCEEDED.",
    code: [
      {
        file: files.flowSteps,
        instead: ["  if (false) {"],
      },
    ],
    database: [],
    seenAt: 30,
  },
];
