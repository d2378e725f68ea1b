/** What a test card makes the pretend acquirers do, and how a payment with it ends. Types only. */

/** What an acquirer does when it is asked to authorize a card. */
export type CardBehaviour =
  | { readonly act: "approve"; readonly capture?: CaptureBehaviour }
  /** Holds one minor unit too little, and says so. */
  | { readonly act: "approve_wrong_amount" }
  /** Holds the amount in another currency, and says so. */
  | { readonly act: "approve_wrong_currency" }
  /** Holds the money, and its answer names another payment. */
  | { readonly act: "approve_wrong_reference" }
  | { readonly act: "decline"; readonly code: string }
  | { readonly act: "fail"; readonly status: number }
  /** Holds the money, and answers with an error. */
  | { readonly act: "approve_then_fail"; readonly status: number }
  /** Never answers, and holds nothing. */
  | { readonly act: "stay_silent" }
  /** Holds the money, and the answer is lost. */
  | { readonly act: "approve_lose_answer" }
  /** Never answers, and holds the money after everybody gave up. */
  | { readonly act: "approve_late" };

/** What becomes of the capture of a hold. */
export type CaptureBehaviour =
  | "at_once"
  /** Takes longer than one request for it is waited for. */
  | "slow"
  /** Takes longer than the whole payment may. */
  | "overdue"
  /** The first request never arrives. */
  | "lose_request"
  /** The first request is carried out, and its answer is lost. */
  | "lose_answer"
  /** Refused for good. */
  | "refuse"
  /** Taken on, and reported as failed afterwards; the hold is gone then. */
  | "fail_later";

/** Where a card stands in lists. */
export type CardGroup = "approved" | "failover" | "declined" | "nasty";

/** How an attempt ends: the first is SANDBOX_A's, the second SANDBOX_B's. */
export type AttemptOutcome = {
  readonly status: "CAPTURED" | "DECLINED" | "VOIDED";
  readonly failureKind?: "HARD_DECLINE" | "SOFT_DECLINE" | "FRAUD" | "TIMEOUT" | "GATEWAY_ERROR";
  /** Why a gateway refused to capture what it held. */
  readonly captureRefused?: string;
};

/** How a payment ends. */
export type CardOutcome = {
  readonly status: "SUCCEEDED" | "DECLINED" | "DEGRADED";
  /** What the merchant is told; the browser may be told less. */
  readonly declineCode?: string;
  readonly attempts: readonly AttemptOutcome[];
  /** Webhooks, in the order of what they report. */
  readonly events: readonly string[];
  /** About how long the customer waits for the final status; absent where it comes at once. */
  readonly settledAfterS?: number;
  /** About when the last hold is given back, counted from the start; absent where nothing is left to wait for. */
  readonly closedAfterS?: number;
};

/** A test card: what both acquirers do with it, and what a payment by it comes to. */
export type TestCard = {
  readonly number: string;
  readonly name: string;
  readonly group: CardGroup;
  /** One sentence for the person trying it: what happens. */
  readonly behaviour: string;
  readonly onA: CardBehaviour;
  readonly onB: CardBehaviour;
  readonly outcome: CardOutcome;
};
