/** Rules D2, D3, D5 and D7 of docs/disputes.md: no refund of what a bank takes back, and one answer to each stage. */
import { type Rule, withoutGuard, withoutUnique, withText } from "./rule.ts";

const refunded = "are refunded while disputes hold";

/** Rules D2, D3, D5 and D7, each with its removal. */
export const disputeRules: readonly Rule[] = [
  {
    id: "dispute-refundable",
    number: "D2",
    says: "Refunds and what disputes hold add up to at most the captured amount.",
    code: [{ file: "src/core/rows/payment.ts", instead: ["  const held = 0;"] }],
    database: [withoutGuard("what a dispute holds is not refunded")],
    harm: refunded,
    seenAt: 401,
  },
  {
    id: "dispute-taken",
    number: "D2",
    says: "What was taken and has not come back is held, whatever the status.",
    code: [],
    database: [withText("guard_dispute", "greatest(NEW.held_minor, taken.net)", "NEW.held_minor")],
    harm: "is held for a dispute over",
    seenAt: 4_234,
  },
  {
    id: "dispute-accepted",
    number: "D2",
    says: "What an acceptance gives up is held once it is committed.",
    code: [],
    database: [withText("guard_dispute", "r.type = 'ACCEPT' AND r.status <> 'REFUSED'", "false")],
    harm: "is held for a dispute over",
    seenAt: 4_452,
  },
  {
    id: "dispute-send",
    number: "D3",
    says: "A refund is counted again before each request.",
    code: [{ file: "src/refunds/next-refund-step.ts", instead: ["  return false;"] }],
    database: [withoutGuard("nothing is sent of what a dispute holds")],
    harm: refunded,
    seenAt: 401,
  },
  {
    id: "refund-disputes-first",
    number: "D3",
    says: "A payment's disputes are read before its first refund is sent, where the gateway lists them.",
    code: [{ file: "src/refunds/refund-once.ts", instead: ["  const disputed = [];"] }],
    database: [],
    harm: "before its payment's disputes were read",
    seenAt: 57,
  },
  {
    id: "dispute-asked",
    number: "D5",
    says: "A dispute that is read is what the latest question brought.",
    code: [{ file: "src/disputes/dispute-rows.ts", instead: [""] }],
    database: [withoutGuard("an older reading of a dispute changes nothing")],
    harm: "an older reading of a dispute",
    seenAt: 1_654,
  },
  {
    id: "dispute-order",
    number: "D5",
    says: "The state follows from all notices, in whatever order they arrive.",
    code: [{ file: "src/disputes/fold-dispute.ts", instead: ["  const ranked = notices.toReversed();"] }],
    database: [],
    harm: "at the gateway, and",
    seenAt: 247,
  },
  {
    id: "dispute-one-answer",
    number: "D7",
    says: "One answer is in effect for each stage of a dispute.",
    code: [{ file: "src/disputes/prepare-response.ts", instead: ["  if (false) {"] }],
    database: [withoutUnique("dispute_response_in_effect")],
    harm: "took two answers",
    seenAt: 5_801,
  },
  {
    id: "dispute-commit-first",
    number: "D7",
    says: "An answer is committed before a byte leaves.",
    code: [{ file: "src/disputes/respond.ts", instead: [""] }],
    database: [],
    harm: "was sent before that was committed",
    seenAt: 52,
  },
];
