/** The test cards whose payments are not paid out as they were captured. Those of all other cards are. */
import type { SettlementBehaviour, TestCard } from "./card-behaviour.ts";
import { approvedByA } from "./outcomes.ts";

const settlementCard = (
  [number, name, behaviour]: readonly [string, string, string],
  settles: SettlementBehaviour,
): TestCard => ({
  number,
  name,
  group: "settlement",
  behaviour,
  onA: { act: "approve", settles },
  onB: { act: "approve", settles },
  outcome: approvedByA(),
});

export const settlementCards: readonly TestCard[] = [
  settlementCard(
    [
      "4000000000007478",
      "Paid out with another amount",
      "The gateway's statement has one minor unit less than was captured.",
    ],
    "other_amount",
  ),
  settlementCard(["4000000000007486", "Never paid out", "No statement of the gateway has the payment."], "never"),
];
