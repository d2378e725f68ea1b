/** Rules R2, R4 and R5 of docs/refunds.md: never more than was captured, and never two for one request. */
import { type Rule, withoutGuard } from "./rule.ts";

const nextStep = "src/refunds/next-refund-step.ts";

/** Rules R2, R4 and R5, each with its removal. */
export const refundRules: readonly Rule[] = [
  {
    id: "refund-sum",
    number: "R2",
    says: "The refunds of a payment add up to at most the captured amount.",
    code: [
      { file: "src/refunds/request-refund.ts", instead: ["  if (amountMinor >= 1) return amountMinor;"] },
      { file: nextStep, instead: ["  return undefined;"] },
    ],
    database: [withoutGuard("no more is refunded than was captured")],
    harm: "captured were refunded",
    seenAt: 236,
  },
  {
    id: "refund-newest-credentials",
    number: "R3",
    says: "A refund is sent with the account's newest credentials, not with those of the capture.",
    code: [
      {
        file: "src/refunds/refund-once.ts",
        instead: ["const bound = await core.bind(refund.connectionId, refund.gateway, captured.credentialVersion);"],
      },
    ],
    database: [],
    harm: "with credentials that had been replaced",
    seenAt: 498,
  },
  {
    id: "refund-key-life",
    number: "R4",
    says: "A request is repeated only while the gateway surely remembers its key.",
    code: [{ file: nextStep, instead: ['  if (!lookUpFirst) return { type: "send", key: keys === 2 ? 2 : 1 };'] }],
    database: [withoutGuard("a refund is repeated only while the gateway remembers its key")],
    harm: "was made twice",
    seenAt: 57,
  },
  {
    id: "refund-second-key",
    number: "R5",
    says: "A second key follows only a look-up that authoritatively found nothing.",
    code: [{ file: nextStep, instead: ["  if (keys === 1) {"] }],
    database: [withoutGuard("a second key follows a look-up that found nothing")],
    harm: "was made twice",
    seenAt: 3530,
  },
];
