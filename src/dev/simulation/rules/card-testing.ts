/** The counts of docs/security.md against card testing, by which at most five security codes of a card reach a gateway, and the braking. */
import { files, type Rule } from "./rule.ts";

const brakedPlan = "src/core/card-testing/braked-plan.ts";

/** These counts and the braking, each with its removal. */
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
  {
    id: "braked-after-decline",
    number: "T3",
    says: "While its merchant brakes, a card that was never approved there gets no second gateway after a decline.",
    code: [{ file: files.nextStep, instead: ["  if (false &&"] }],
    database: [],
    harm: "follows a decline, and the merchant brakes",
    seenAt: 640,
  },
  {
    id: "braked-declines-only",
    number: "T3",
    says: "It still gets another gateway after a timeout or an error.",
    code: [{ file: files.nextStep, instead: ["    true &&"] }],
    database: [],
    harm: "and braking stopped its failover",
    seenAt: 141,
  },
  {
    id: "approved-card-known",
    number: "T3",
    says: "A card that was approved there is paid as ever.",
    code: [{ file: brakedPlan, instead: [""] }],
    database: [],
    harm: "approved here is paid with the brakes",
    seenAt: 391,
  },
  {
    id: "braking-ends",
    number: "T3",
    says: "Braking ends after ten calm minutes, once nobody holds it on.",
    code: [{ file: "src/core/card-testing/judge-braking.ts", instead: [""] }],
    database: [],
    harm: "a merchant brakes without an end",
    seenAt: 59,
  },
  {
    id: "braked-reason-hidden",
    number: "T3",
    says: "While its merchant brakes, no browser gets the reason of a decline.",
    code: [{ file: "src/edge/checkout-rpc.ts", instead: ["  const isBraked = brakes === undefined;"] }],
    database: [],
    harm: "the customer is shown",
    seenAt: 1_196,
  },
];
