/** The test cards, and what each pretend acquirer does with them. In the demo SANDBOX_A has priority 1, SANDBOX_B priority 2. */

/** What an acquirer does when it is asked to authorize a card. */
export type CardBehaviour =
  | { readonly act: "approve" }
  /** Approves; a later capture takes long to be answered or reported. */
  | { readonly act: "approve_capture_slowly" }
  /** Holds one minor unit too little, and says so. */
  | { readonly act: "approve_wrong_amount" }
  | { readonly act: "decline"; readonly code: string }
  | { readonly act: "fail"; readonly status: number }
  /** Never answers, and holds nothing. */
  | { readonly act: "stay_silent" }
  /** Holds the money, and the answer is lost. */
  | { readonly act: "approve_lose_answer" }
  /** Never answers, and holds the money after everybody gave up. */
  | { readonly act: "approve_late" };

export type TestCard = {
  readonly number: string;
  readonly name: string;
  /** One sentence for the person trying it. */
  readonly behaviour: string;
  readonly onA: CardBehaviour;
  readonly onB: CardBehaviour;
};

const approve: CardBehaviour = { act: "approve" };

/**
 * Numbers that others publish for the same thing (https://docs.stripe.com/testing, 2026) where there are any;
 * the rest carry the HTTP status that suits them before the check digit: 408 timeout, 500 error, 503 down.
 */
export const testCards: readonly TestCard[] = [
  {
    number: "4242424242424242",
    name: "Approved",
    behaviour: "Approved at the first gateway.",
    onA: approve,
    onB: approve,
  },
  {
    number: "5555555555554444",
    name: "Approved, Mastercard",
    behaviour: "Approved at the first gateway.",
    onA: approve,
    onB: approve,
  },
  {
    number: "378282246310005",
    name: "Approved, American Express",
    behaviour: "Approved at the first gateway; 15 digits and a security code of four.",
    onA: approve,
    onB: approve,
  },
  {
    number: "4000000000000002",
    name: "Failover after a decline",
    behaviour: "Hard decline at SANDBOX_A, approved at SANDBOX_B.",
    onA: { act: "decline", code: "transaction_not_allowed" },
    onB: approve,
  },
  {
    number: "4100000000000019",
    name: "Fraud",
    behaviour: "Declined as fraud at the first gateway; no other gateway is asked.",
    onA: { act: "decline", code: "fraudulent" },
    onB: { act: "decline", code: "20" },
  },
  {
    number: "4000000000009995",
    name: "Insufficient funds",
    behaviour: "Soft decline at every gateway.",
    onA: { act: "decline", code: "insufficient_funds" },
    onB: { act: "decline", code: "12" },
  },
  {
    number: "4000000000000069",
    name: "Expired card",
    behaviour: "Declined as expired at the first gateway; the same card would fail everywhere, so no other is asked.",
    onA: { act: "decline", code: "expired_card" },
    onB: { act: "decline", code: "6" },
  },
  {
    number: "4000000000005209",
    name: "Unclassified decline",
    behaviour: "Declined with a code nobody has classified; no other gateway is asked.",
    onA: { act: "decline", code: "unheard_of" },
    onB: { act: "decline", code: "999" },
  },
  {
    number: "4000000000004087",
    name: "Timeout",
    behaviour: "SANDBOX_A never answers and holds nothing; approved at SANDBOX_B.",
    onA: { act: "stay_silent" },
    onB: approve,
  },
  {
    number: "4000000000005001",
    name: "Gateway error",
    behaviour: "SANDBOX_A answers 500; approved at SANDBOX_B.",
    onA: { act: "fail", status: 500 },
    onB: approve,
  },
  {
    number: "4000000000005035",
    name: "All gateways down",
    behaviour: "Every gateway answers 503; the session ends DEGRADED.",
    onA: { act: "fail", status: 503 },
    onB: { act: "fail", status: 503 },
  },
  {
    number: "4000000000002040",
    name: "Answer lost",
    behaviour: "SANDBOX_A holds the money but its answer is lost; approved at SANDBOX_B, the first hold is voided.",
    onA: { act: "approve_lose_answer" },
    onB: approve,
  },
  {
    number: "4000000000002024",
    name: "Approved late",
    behaviour: "SANDBOX_A approves after we gave up; approved at SANDBOX_B, the late hold is refused or voided.",
    onA: { act: "approve_late" },
    onB: approve,
  },
  {
    number: "4000000000001026",
    name: "Captured slowly",
    behaviour: "Approved at the first gateway, which takes long to capture.",
    onA: { act: "approve_capture_slowly" },
    onB: { act: "approve_capture_slowly" },
  },
  {
    number: "4000000000004160",
    name: "Amount mismatch",
    behaviour:
      "SANDBOX_A approves another amount, which counts as no answer; approved at SANDBOX_B, the hold is voided.",
    onA: { act: "approve_wrong_amount" },
    onB: approve,
  },
];
