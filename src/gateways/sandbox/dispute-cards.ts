/**
 * The test cards whose payments are disputed, at the gateways that report disputes. Payments of other cards get no
 * dispute.
 */
import type { DisputeBehaviour, RefundBehaviour, TestCard } from "./card-behaviour.ts";
import { approvedByA } from "./outcomes.ts";

const disputeCard = (
  [number, name, behaviour]: readonly [string, string, string],
  dispute: DisputeBehaviour,
  refund?: RefundBehaviour,
): TestCard => ({
  number,
  name,
  group: "disputes",
  behaviour,
  onA: { act: "approve", dispute, ...(refund && { refund }) },
  onB: { act: "approve", dispute, ...(refund && { refund }) },
  outcome: approvedByA(),
});

export const disputeCards: readonly TestCard[] = [
  disputeCard(["4000000000007403", "Disputed", "Five seconds after the capture, the bank charges it back."], "charged"),
  disputeCard(
    [
      "4000000000007411",
      "Inquiry",
      "Five seconds after the capture, the bank asks; a day later it charges back, unless the whole is refunded.",
    ],
    "asked",
  ),
  disputeCard(
    ["4000000000007429", "Fraud warning", "Five seconds after the capture, the card network reports fraud."],
    "warned",
  ),
  disputeCard(
    [
      "4000000000007437",
      "Disputed after its refund",
      "Five seconds after a refund, the bank charges the payment back.",
    ],
    "after_refund",
  ),
  disputeCard(
    [
      "4000000000007445",
      "Charged back again",
      "The dispute is answered and won within 15 seconds, then the bank charges back a second time.",
    ],
    "charged_again",
  ),
  disputeCard(
    [
      "4000000000007452",
      "Disputed during its refund",
      "A refund is accepted and takes five seconds; the bank charges back meanwhile.",
    ],
    "during_refund",
    "slow",
  ),
  disputeCard(
    [
      "4000000000007460",
      "Disputed, and answers are lost",
      "Five seconds after the capture, the bank charges it back; the gateway's answer to the first acceptance or evidence is lost.",
    ],
    "answers_lost",
  ),
];
