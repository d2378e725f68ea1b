/** Rules S3 to S8 of docs/subscriptions.md: one capture for each renewal, and nothing that a bank or the customer does not allow. */
import { type Rule, withoutGuard, withText } from "./rule.ts";

/** Rules S3, S4, S5 and S8, each with its removal. */
export const renewalRules: readonly Rule[] = [
  {
    id: "renewal-once",
    number: "S3",
    says: "A renewal passes to another session only when its own has ended unpaid.",
    code: [],
    database: [
      withText("renewal_refusal", "s.status IN ('CREATED','SUCCEEDED')", "false"),
      withoutGuard("a renewal passes to another session when its own has ended unpaid"),
      withoutGuard("the renewal is another session's"),
    ],
    harm: "a renewal was captured",
    seenAt: 92,
  },
  {
    id: "renewal-names",
    number: "S4",
    says: "A renewal has the same names after a restore, and gateways are asked about them first.",
    code: [{ file: "src/core/execute/unrecorded-attempts.ts", instead: ["    ? []"] }],
    database: [],
    harm: "a renewal was captured",
    seenAt: 8_302_287,
  },
  {
    id: "renewal-stopped",
    number: "S5",
    says: "A card that its bank has stopped is not tried without its customer.",
    code: [],
    database: [withText("card_refusal", "IF s.stopped_at IS NOT NULL THEN", "IF false THEN")],
    harm: "a stopped card was tried",
    seenAt: 2_132,
  },
  {
    id: "renewal-chain",
    number: "S8",
    says: "A gateway continues its own chain, or one with a network transaction id.",
    code: [{ file: "src/core/stored-cards/renewals/plan-renewal.ts", instead: ["  return undefined;"] }],
    database: [withoutGuard("a gateway continues its own chain, or one with a network transaction id")],
    harm: "a gateway got an agreement that it cannot continue",
    seenAt: 366,
  },
];
