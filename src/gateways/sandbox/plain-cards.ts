/** The test cards of ordinary payments: approvals, declines, and a first gateway that does not help. */
import type { CardBehaviour, TestCard } from "./card-behaviour.ts";
import { approvedByA, approvedByBAfter, declined } from "./outcomes.ts";

const approve: CardBehaviour = { act: "approve" };

const wrongCodeCard = "4000000000008401";
const countedCard = "4000000000008419";

/** The test cards whose payments count against card testing; all others can be used without end. */
export const countedTestCards: ReadonlySet<string> = new Set([wrongCodeCard, countedCard]);

export const plainCards: readonly TestCard[] = [
  {
    number: "4242424242424242",
    name: "Approved",
    group: "approved",
    behaviour: "Approved at the first gateway.",
    onA: approve,
    onB: approve,
    outcome: approvedByA(),
  },
  {
    number: "5555555555554444",
    name: "Approved, Mastercard",
    group: "approved",
    behaviour: "Approved at the first gateway.",
    onA: approve,
    onB: approve,
    outcome: approvedByA(),
  },
  {
    number: "378282246310005",
    name: "Approved, American Express",
    group: "approved",
    behaviour: "Approved at the first gateway; 15 digits and a security code of four.",
    onA: approve,
    onB: approve,
    outcome: approvedByA(),
  },
  {
    number: countedCard,
    name: "Approved and counted",
    group: "approved",
    behaviour: "Approved at the first gateway. Its submissions are counted, as those of every card are in live.",
    onA: approve,
    onB: approve,
    outcome: approvedByA(),
  },
  {
    number: "4000002500001001",
    name: "Approved, Cartes Bancaires and Visa",
    group: "approved",
    behaviour: "Approved at the first gateway. The customer may choose between the card’s two brands.",
    onA: approve,
    onB: approve,
    outcome: approvedByA(),
  },
  {
    number: "5555552500001001",
    name: "Approved, Cartes Bancaires and Mastercard",
    group: "approved",
    behaviour: "Approved at the first gateway. The customer may choose between the card’s two brands.",
    onA: approve,
    onB: approve,
    outcome: approvedByA(),
  },
  {
    number: "4000000000007171",
    name: "Authenticated without a challenge",
    group: "approved",
    behaviour:
      "SANDBOX_A authenticates without asking the customer, if the payment comes from a page that could show the bank’s, and approves.",
    onA: { act: "approve", frictionless: "Y" },
    onB: { act: "approve", frictionless: "Y" },
    outcome: approvedByA(),
  },
  {
    number: "4000000000000002",
    name: "Failover after a decline",
    group: "failover",
    behaviour: "Hard decline at SANDBOX_A, approved at SANDBOX_B.",
    onA: { act: "decline", code: "transaction_not_allowed" },
    onB: approve,
    outcome: {
      status: "SUCCEEDED",
      attempts: [{ status: "DECLINED", failureKind: "HARD_DECLINE" }, { status: "CAPTURED" }],
      events: ["payment_session.succeeded"],
    },
  },
  {
    number: "4000000000000119",
    name: "Processing error",
    group: "failover",
    behaviour:
      "SANDBOX_A declines for a processing error and asks to try again, after which it approves; approved at SANDBOX_B, unless the rule retries at the same gateway.",
    onA: { act: "decline", code: "processing_error", once: true },
    onB: approve,
    outcome: {
      status: "SUCCEEDED",
      attempts: [{ status: "DECLINED", failureKind: "SOFT_DECLINE" }, { status: "CAPTURED" }],
      events: ["payment_session.succeeded"],
    },
  },
  {
    number: "4000000000004087",
    name: "Timeout",
    group: "failover",
    behaviour: "SANDBOX_A never answers and holds nothing; approved at SANDBOX_B.",
    onA: { act: "stay_silent" },
    onB: approve,
    outcome: approvedByBAfter("TIMEOUT", { settledAfterS: 10 }),
  },
  {
    number: "4000000000005001",
    name: "Gateway error",
    group: "failover",
    behaviour: "SANDBOX_A answers 500; approved at SANDBOX_B.",
    onA: { act: "fail", status: 500 },
    onB: approve,
    outcome: approvedByBAfter("GATEWAY_ERROR"),
  },
  {
    number: "4100000000000019",
    name: "Fraud",
    group: "declined",
    behaviour: "Declined as fraud at the first gateway; no other gateway is used.",
    onA: { act: "decline", code: "fraudulent" },
    onB: { act: "decline", code: "20" },
    outcome: declined("fraud_suspected", "FRAUD"),
  },
  {
    number: "4000000000009979",
    name: "Stolen card",
    group: "declined",
    behaviour: "Declined as stolen at the first gateway; the card schemes forbid another attempt, so no other is used.",
    onA: { act: "decline", code: "stolen_card" },
    onB: { act: "decline", code: "5" },
    outcome: declined("lost_or_stolen", "HARD_DECLINE"),
  },
  {
    number: "4000000000009995",
    name: "Insufficient funds",
    group: "declined",
    behaviour: "Soft decline at every gateway.",
    onA: { act: "decline", code: "insufficient_funds" },
    onB: { act: "decline", code: "12" },
    outcome: declined("insufficient_funds", "SOFT_DECLINE", "SOFT_DECLINE"),
  },
  {
    number: "4000000000000069",
    name: "Expired card",
    group: "declined",
    behaviour: "Declined as expired at the first gateway; the same card would fail everywhere, so no other is used.",
    onA: { act: "decline", code: "expired_card" },
    onB: { act: "decline", code: "6" },
    outcome: declined("card_expired", "HARD_DECLINE"),
  },
  {
    number: wrongCodeCard,
    name: "Wrong security code",
    group: "declined",
    behaviour:
      "Declined for its security code at the first gateway; the same card would fail everywhere, so no other is used.",
    onA: { act: "decline", code: "incorrect_cvc" },
    onB: { act: "decline", code: "24" },
    outcome: declined("incorrect_cvc", "HARD_DECLINE"),
  },
  {
    number: "4000000000005209",
    name: "Unclassified decline",
    group: "declined",
    behaviour: "Declined with an unclassified code; no other gateway is used.",
    onA: { act: "decline", code: "unheard_of" },
    onB: { act: "decline", code: "999" },
    outcome: declined("unclassified", "SOFT_DECLINE"),
  },
];
