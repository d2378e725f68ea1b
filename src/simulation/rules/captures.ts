/** Rules 1 to 3: who is captured, when, and until when. */
import { captureUnanswered, files, type Rule, withoutCheck, withoutGuard, withoutUnique } from "./rule.ts";

/** Rules 1 to 3, each with its removal. */
export const captureRules: readonly Rule[] = [
  {
    id: "winner-once",
    number: 1,
    says: "The winner is named by compare-and-set from none.",
    code: [{ file: files.lease, find: " AND winner_attempt_id IS NULL RETURNING id", replace: " RETURNING id" }],
    database: [
      withoutGuard("a winner is named from null only"),
      withoutGuard("a hold is adopted only while CREATED and without a winner"),
      withoutGuard("an authorized attempt is the winner"),
      withoutUnique("attempt_one_capturable"),
    ],
    coveredBy: ["lease-epoch", "conditional-move"],
    harm: "captured",
    harmless: "a second winner would need two more walls to be gone: the index and the guard that came first",
  },
  {
    id: "winner-voids-unknown",
    number: 1,
    says: "The transaction that names the winner gives every unknown attempt back.",
    code: [
      {
        file: files.attempts,
        find: "  nameWinner(tx, attempt);\n  voidUnknown(tx, attempt.sessionId);",
        replace: "  nameWinner(tx, attempt);",
      },
    ],
    database: [withoutGuard("unknown attempts go to VOIDING with the winner or the end")],
  },
  {
    id: "capture-ordered-first",
    number: 2,
    says: "The order to capture is committed before the capture is sent.",
    code: [
      { file: files.flowSteps, find: "      recordCaptureOrdered(tx, attempt);\n", replace: "" },
      {
        file: files.nextStep,
        find: 'if (winner && !winner.captureStartedAt) return { type: "orderCapture", attempt: winner };',
        replace: "",
      },
    ],
    database: [withoutCheck("status <> 'CAPTURED' OR capture_started_at IS NOT NULL")],
  },
  {
    id: "capture-never-given-up",
    number: 2,
    says: "An unanswered capture is repeated until the gateway answers it.",
    code: [
      {
        ...captureUnanswered,
        replace: `    case "unknown": {
      const next = await decide(tx, work, attempt, { kind: "GATEWAY_ERROR", captureRefused: true });
      return recordCaptureRefused(tx, attempt, "no answer", next);
    }`,
      },
    ],
    database: [],
    coveredBy: ["former-winner-waits"],
  },
  {
    id: "former-winner-waits",
    number: 3,
    says: "Nothing else happens while a former winner may still turn out captured.",
    code: [
      {
        file: files.nextStep,
        find: "if (formerWinner.length > 0) return noLaterThanPending(session, firstDue(formerWinner, moment, voidOf));",
        replace: "",
      },
    ],
    database: [
      withoutUnique("attempt_one_capturable"),
      withoutGuard("no end without a capture while one may still land"),
    ],
  },
  {
    id: "landed-capture-adopted",
    number: 3,
    says: "A former winner whose capture had landed after all ends the session as SUCCEEDED.",
    code: [
      {
        file: files.flowSteps,
        find: 'if (answer.type === "alreadyCaptured" && attempt.captureStartedAt && trail.session.status === "CREATED") {',
        replace: "if (false) {",
      },
    ],
    database: [],
  },
];
