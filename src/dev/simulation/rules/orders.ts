/** Rules O1 to O4: one payment for one order. */
import { type Rule, withoutGuard, withText } from "./rule.ts";

const orderWinner = "src/core/orders/order-winner.ts";

/** Rules O1 to O4, each with its removal. */
export const orderRules: readonly Rule[] = [
  {
    id: "order-once",
    number: "O1",
    says: "An order has at most one winner over all sessions of a merchant.",
    code: [],
    database: [withText("require_order", "IF other IS NOT NULL AND", "IF false AND")],
    seenAt: 137,
  },
  {
    id: "order-ends-payment",
    number: "O2",
    says: "A payment whose order another session pays asks no further gateway.",
    code: [
      {
        file: orderWinner,
        instead: ['const stop = { stop: null, nextAction: "failover", nextBecause } as const;'],
      },
    ],
    database: [withoutGuard("no attempt for an order that another session pays")],
    seenAt: 137,
  },
  {
    id: "order-kept",
    number: "O3",
    says: "An order is free only when no money of it can be kept.",
    code: [],
    database: [withText("update_order", "IF s.keeps THEN", "IF false THEN")],
    seenAt: 166,
  },
  {
    id: "order-kept-until-voided",
    number: "O3",
    says: "A hold whose capture was ordered keeps its order until its void is acknowledged.",
    code: [],
    database: [
      withText(
        "update_order",
        "k.session_id = of_session) AS keeps",
        "k.session_id = of_session AND NOT EXISTS (SELECT FROM attempt a WHERE a.session_id = of_session AND a.status = 'VOIDING')) AS keeps",
      ),
      withText(
        "check_whole_attempt",
        "CASE WHEN NEW.capture_ordered_at IS NULL THEN 'VOIDING' ELSE 'VOIDED' END",
        "'VOIDING'",
      ),
    ],
    seenAt: 137,
  },
  {
    id: "order-taken-again",
    number: "O3",
    says: "Of a refund that fails when another session has paid the order, a person knows.",
    code: [{ file: "src/refunds/refund-rows.ts", instead: [""] }],
    database: [],
    harm: "two sessions have one order",
    seenAt: 3_229,
  },
  {
    id: "order-facts",
    number: "O4",
    says: "Money that is taken is recorded, whoever has the order.",
    code: [{ file: "src/core/execute/unrecorded-attempts.ts", instead: [""] }],
    database: [],
    seenAt: 2_396,
  },
];
