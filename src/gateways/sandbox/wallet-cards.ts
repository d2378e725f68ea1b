/**
 * The test cards in the sheets of the wallets' emulators. The first seven represent a device's number, the last two the
 * card itself.
 */
import type { CardBehaviour, TestCard } from "./card-behaviour.ts";
import { approvedByA, approvedByBAfter, declined } from "./outcomes.ts";

const approve: CardBehaviour = { act: "approve" };
const declineAtA: CardBehaviour = { act: "decline", code: "transaction_not_allowed" };

const group = "wallets";
const viaB = { status: "SUCCEEDED", events: ["payment_session.succeeded"] } as const;
const captured = { status: "CAPTURED" } as const;
const declinedAtA = declined("card_declined", "HARD_DECLINE");

export const deviceCards: readonly TestCard[] = [
  {
    number: "4000000000008302",
    name: "Approved",
    group,
    behaviour: "Approved at the first gateway.",
    onA: approve,
    onB: approve,
    outcome: approvedByA(),
  },
  {
    number: "4000000000008310",
    name: "Request refused",
    group,
    behaviour: "SANDBOX_A refuses the request, so no network has seen the cryptogram; approved at SANDBOX_B.",
    onA: { act: "fail", status: 400 },
    onB: approve,
    outcome: { ...viaB, attempts: [{ status: "FAILED", failureKind: "GATEWAY_ERROR" }, captured] },
  },
  {
    number: "4000000000008328",
    name: "No answer, no hold",
    group,
    behaviour: "SANDBOX_A never answers and is looked up: it holds nothing; approved at SANDBOX_B.",
    onA: { act: "stay_silent" },
    onB: approve,
    outcome: approvedByBAfter("TIMEOUT", { settledAfterS: 10 }),
  },
  {
    number: "4000000000008336",
    name: "Answer lost",
    group,
    behaviour:
      "SANDBOX_A holds the money but its answer is lost. It is looked up and captured, and the cryptogram goes to no other gateway.",
    onA: { act: "approve_lose_answer" },
    onB: approve,
    outcome: { ...approvedByA(), settledAfterS: 10 },
  },
  {
    number: "4000000000008344",
    name: "Declined, cryptogram used",
    group,
    behaviour:
      "SANDBOX_A declines. Only a rule with cryptogramResend DECLINED sends the cryptogram to SANDBOX_B, whose network refuses it.",
    onA: declineAtA,
    onB: approve,
    outcome: declinedAtA,
  },
  {
    number: "4000000000008351",
    name: "Declined, cryptogram taken again",
    group,
    behaviour: "As the card above, but the network takes the cryptogram a second time, and SANDBOX_B approves.",
    onA: declineAtA,
    onB: { act: "approve", takesUsedCryptogram: true },
    outcome: declinedAtA,
  },
  {
    number: "4000000000008369",
    name: "Fraud",
    group,
    behaviour: "Fraud-class decline at SANDBOX_A; nothing follows.",
    onA: { act: "decline", code: "fraudulent" },
    onB: approve,
    outcome: declined("fraud_suspected", "FRAUD"),
  },
];

/** They have no security code, so each payment with one is authenticated. */
export const walletPanCards: readonly TestCard[] = [
  {
    number: "4000000000008377",
    name: "The card itself, challenge",
    group,
    behaviour: "A card of Google Pay without a device: the bank asks the customer, and SANDBOX_A approves.",
    onA: { act: "authenticate", when: "as_needed", code: "authentication_required", passed: approve },
    onB: approve,
    onDirectory: { answer: "challenge" },
    outcome: approvedByA(),
  },
  {
    number: "4000000000008385",
    name: "The card itself, failover",
    group,
    behaviour: "A card of Google Pay without a device: SANDBOX_A declines it, SANDBOX_B approves it.",
    onA: declineAtA,
    onB: approve,
    onDirectory: { answer: "Y" },
    outcome: { ...viaB, attempts: [{ status: "DECLINED", failureKind: "HARD_DECLINE" }, captured] },
  },
];

export const walletCards: readonly TestCard[] = [...deviceCards, ...walletPanCards];
