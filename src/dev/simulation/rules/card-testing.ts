/** The counts of docs/card-testing.md against card testing: at most five security codes of a card reach a gateway. */
import { files, type Rule } from "./rule.ts";

/** These counts, each with its removal. */
export const cardTestingRules: readonly Rule[] = [
  {
    id: "card-counted",
    number: "T1",
    says: "Each submission of a card counts against it, over all sessions of a merchant.",
    code: [{ file: files.submitPayment, instead: ["  const counted = undefined;"] }],
    database: [],
    harm: "a card was",
    seenAt: 3_217,
  },
  {
    id: "declines-counted",
    number: "T2",
    says: "A declined submission counts against its card for a day.",
    code: [{ file: "src/core/record/settle.ts", instead: [""] }],
    database: [],
    harm: "a card was declined",
    seenAt: 3_217,
  },
];
