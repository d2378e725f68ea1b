/** The test cards whose payments are captured and whose refunds differ. Every other card is refunded at once. */
import type { RefundBehaviour, TestCard } from "./card-behaviour.ts";
import { approvedByA } from "./outcomes.ts";

const refundCard = (number: string, name: string, refund: RefundBehaviour, behaviour: string): TestCard => ({
  number,
  name,
  group: "refunds",
  behaviour,
  onA: { act: "approve", refund },
  onB: { act: "approve", refund },
  outcome: approvedByA(),
});

export const refundCards: readonly TestCard[] = [
  refundCard(
    "4000000000007189",
    "Refund takes time",
    "slow",
    "A refund is accepted, and made after about five seconds.",
  ),
  refundCard("4000000000007197", "Refund refused", "refuse", "A refund is refused permanently; nothing is refunded."),
  refundCard(
    "4000000000007205",
    "Refund answer lost",
    "lose_answer",
    "The first refund is made, but its answer is lost; it is sent again with the same key, and nothing is refunded twice.",
  ),
  refundCard(
    "4000000000007213",
    "Refund fails a day later",
    "fail_later",
    "A refund is made, and fails a day later, as when the bank returns the money.",
  ),
  refundCard(
    "4000000000007221",
    "Refunded by hand",
    "by_hand",
    "Five seconds after the capture, half of the amount is refunded by hand at the gateway.",
  ),
];
