/** Behaviour of a test card at the sandbox acquirers, and the end of a payment with it. Types only. */

/** An acquirer's reaction to an authorize with a card. */
export type CardBehaviour =
  | {
      readonly act: "approve";
      readonly hold?: HoldBehaviour;
      readonly capture?: CaptureBehaviour;
      readonly refund?: RefundBehaviour;
      readonly dispute?: DisputeBehaviour;
      readonly settles?: SettlementBehaviour;
      readonly frictionless?: Frictionless | undefined;
      /** True if the answer lacks the network's name for the payment. */
      readonly givesNoNetworkId?: true;
      /** True if the network takes a cryptogram that it has seen before. */
      readonly takesUsedCryptogram?: true;
    }
  /** Holds one minor unit too little, and reports it. */
  | { readonly act: "approve_wrong_amount" }
  /** Holds the amount in another currency, and reports it. */
  | { readonly act: "approve_wrong_currency" }
  /** Holds the money, and its answer names another payment. */
  | { readonly act: "approve_wrong_reference" }
  | {
      readonly act: "decline";
      readonly code: string;
      readonly frictionless?: Frictionless | undefined;
      /** True if only the first authorization of an order is declined, and the next one approved. */
      readonly once?: true;
      /** The bank's own code, and Mastercard's advice. */
      readonly networkCode?: string;
      readonly adviceCode?: string;
      /** For a renewal: approves from the day after the card was stored, or once it was stored again. */
      readonly until?: "next_day" | "stored_again";
    }
  | AuthenticatedBehaviour
  | { readonly act: "fail"; readonly status: number }
  /** Holds the money, and answers with an error. */
  | { readonly act: "approve_then_fail"; readonly status: number }
  /** Sends no answer, and holds nothing. */
  | { readonly act: "stay_silent" }
  /** Holds the money, and the answer is lost. */
  | { readonly act: "approve_lose_answer" }
  /** Sends no answer, and holds the money after every caller has stopped waiting. */
  | { readonly act: "approve_late" };

/**
 * The result of 3-D Secure without the customer, where the request permits the gateway to run it: authenticated,
 * attempted, unavailable or refused.
 */
export type Frictionless = "Y" | "A" | "U" | "N";

/** Runs customer authentication where the request permits it, and declines with the code where it does not. */
type AuthenticatedBehaviour = {
  readonly act: "authenticate";
  /** `if_asked`: only if the request requires it. `if_wanted`: the same, and otherwise decided without. */
  readonly when: "as_needed" | "if_asked" | "if_wanted";
  readonly code: string;
  /** The decision once the customer has passed. */
  readonly passed: CardBehaviour;
  /** True if the answer to the first completing request is lost. */
  readonly losesCompletion?: boolean;
  /** True if a provider's proof is refused. */
  readonly refusesProof?: boolean;
  /** True if the bank grants an exemption. */
  readonly grantsExemption?: boolean;
};

/** The reaction of SANDBOX_3DS, its directory and its bank to a card; undefined for a card that the directory does not know. */
export type DirectoryBehaviour = {
  /** The bank's device check: it reports at once, or never. Absent: it has none. */
  readonly method?: "done" | "silent";
  /**
   * The bank's answer: a status of EMV 3DS, or a challenge (by a code, in the bank's app, or on a page that stays
   * blank). `down`: the directory does not answer.
   */
  readonly answer: "Y" | "A" | "N" | "R" | "U" | "I" | "challenge" | "app" | "blank" | "down";
  /** True if the customer's return is lost. */
  readonly losesReturn?: boolean;
  /** The bank's message to the customer, in its first answer. */
  readonly message?: string;
};

/** The fate of a hold that nothing captures or voids. */
export type HoldBehaviour =
  /** Ends when the acquirer says. */
  | "lasts"
  /** Ends some seconds after the authorization. */
  | "ends_early"
  /** Some seconds after the authorization, half of it is captured by hand at the gateway. */
  | "captured_by_hand";

/** The fate of a hold's capture. */
export type CaptureBehaviour =
  | "at_once"
  /** Takes longer than one request waits. */
  | "slow"
  /** Takes longer than the whole payment may. */
  | "overdue"
  /** The first request never arrives. */
  | "lose_request"
  /** The first request is carried out, and its answer is lost. */
  | "lose_answer"
  /** Refused definitively. */
  | "refuse"
  /** Accepted, and later reported as failed; the hold no longer exists then. */
  | "fail_later";

/** The fate of refunds of a captured payment. */
export type RefundBehaviour =
  | "at_once"
  /** Accepts the refund, and makes it some seconds later. */
  | "slow"
  /** Refused definitively. */
  | "refuse"
  /** The first request is carried out, and its answer is lost. */
  | "lose_answer"
  /** Makes the refund, and reports a day later that it failed. */
  | "fail_later"
  /** Some seconds after the capture, half of it is refunded by hand at the gateway. */
  | "by_hand";

/** The payout of a captured payment; of the captured amount if absent. */
export type SettlementBehaviour =
  /** `other_amount` pays out one minor unit less than was captured. */
  "other_amount" | "never";

/** The bank's action after a captured payment; absent, none. */
export type DisputeBehaviour =
  /** Charges it back. */
  | "charged"
  /** Asks, and charges it back later unless it is refunded. */
  | "asked"
  /** Reports it as fraud. */
  | "warned"
  /** Charges it back after a refund. */
  | "after_refund"
  /** Charges it back, loses, and charges it back again. */
  | "charged_again"
  /** Charges it back while a refund is being made. */
  | "during_refund"
  /** Charges it back; the answer to the first response is lost. */
  | "answers_lost";

export type CardGroup =
  | "approved"
  | "failover"
  | "authentication"
  | "declined"
  | "nasty"
  | "refunds"
  | "disputes"
  | "settlement"
  | "later"
  | "stored"
  | "wallets";

/** The end of an attempt: the first is SANDBOX_A's, the second SANDBOX_B's unless it names another. */
export type AttemptOutcome = {
  readonly gateway?: "SANDBOX_A" | "SANDBOX_B";
  readonly status: "CAPTURED" | "DECLINED" | "FAILED" | "VOIDED";
  readonly failureKind?: "HARD_DECLINE" | "SOFT_DECLINE" | "FRAUD" | "TIMEOUT" | "GATEWAY_ERROR";
  /** The reason why a gateway refused to capture its hold. */
  readonly captureRefused?: string;
};

/** The end of a payment. */
export type CardOutcome = {
  readonly status: "SUCCEEDED" | "DECLINED" | "DEGRADED";
  /** The code that the merchant gets; the browser may get a less specific one. */
  readonly declineCode?: string;
  readonly attempts: readonly AttemptOutcome[];
  /** Webhooks, in the order of the events that they report. */
  readonly events: readonly string[];
  /** Approximate time until the customer sees the final status; absent if it comes at once. */
  readonly settledAfterS?: number;
  /** Approximate time from the start until the last hold is voided; absent if no void follows. */
  readonly closedAfterS?: number;
};

/** A test card: the reaction of both acquirers, and the result of a payment with it. */
export type TestCard = {
  readonly number: string;
  readonly name: string;
  readonly group: CardGroup;
  /** A sentence for the person trying it: what happens. */
  readonly behaviour: string;
  readonly onA: CardBehaviour;
  readonly onB: CardBehaviour;
  /** Absent: SANDBOX_3DS does not know the card. */
  readonly onDirectory?: DirectoryBehaviour;
  readonly outcome: CardOutcome;
};

/** A test card that is stored, and then charged without its customer. Its `outcome` is that of the payment that stores it. */
export type StoredTestCard = TestCard & {
  readonly renewedAtA: CardBehaviour;
  readonly renewedAtB: CardBehaviour;
  /** A sentence for the person trying it: how a renewal ends. */
  readonly renewal: string;
};
