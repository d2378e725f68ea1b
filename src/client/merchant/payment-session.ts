/** Payment sessions as the REST API and webhooks write them. A test compares these types with the schemas. */

/** The fields of a new session. `amountMinor` is in minor units: 4900 is 49.00 where the currency has two decimals. */
export type NewPaymentSession = {
  readonly amountMinor: number;
  /** ISO 4217, such as EUR. */
  readonly currency: string;
  /** Your reference of the order, stored exactly as given. */
  readonly orderRef: string;
  readonly customerEmail?: string | undefined;
  /** At most 100 characters. */
  readonly customerName?: string | undefined;
  readonly billingAddress?: BillingAddress | undefined;
  /** Your own data about the order: at most 20 keys. No gateway gets it. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** The text for the customer's card statement: 5 to 22 characters. The default is the merchant's setting. */
  readonly statementDescriptor?: string | undefined;
  /** `manual`: the amount is held, and captured when you order it. The default is `automatic`. */
  readonly capture?: "automatic" | "manual" | undefined;
  /**
   * With `manual`: the earliest time at which the hold may end. RFC 3339, from a minute to 162 hours after `expiresAt`.
   */
  readonly captureBy?: string | undefined;
  /** The session that this one takes the place of, such as for a changed cart: it ends with the creation. */
  readonly replaces?: string | undefined;
  /** Takes a second payment of the order, also if your settings refuse repeated orders. */
  readonly allowRepeatedOrder?: boolean | undefined;
  /** Your reference of the customer, who may pay with the cards stored under it: give it for a signed-in customer only. */
  readonly customerRef?: string | undefined;
  /** Stores the card once the payment is approved, if the customer consents. Needs `customerRef`. */
  readonly saveCard?: { readonly agreement?: AgreementTerms | undefined } | undefined;
  /**
   * Sets whether the customer enters the security code of a stored card. The default is `required`. Needs
   * `customerRef`.
   */
  readonly storedCardSecurityCode?: "required" | "skip" | undefined;
};

/** The customer's agreement to later charges without the customer. */
export type AgreementTerms = {
  readonly type: "RECURRING" | "UNSCHEDULED" | "INSTALMENT";
  /** The sentence that the customer reads. */
  readonly text: string;
  /**
   * The least number of days between two charges, as sent to the customer's bank. Switchyard does not enforce it. Only
   * UNSCHEDULED may lack it.
   */
  readonly everyDays?: number | undefined;
  /** The last day of a charge, such as 2031-12-31. Only UNSCHEDULED may lack it. */
  readonly endsOn?: string | undefined;
  /** The number of parts, 2 to 99, of an INSTALMENT only. */
  readonly instalments?: number | undefined;
  /** The highest amount of one charge. */
  readonly maxAmountMinor?: number | undefined;
};

/** The address to which a card is billed. */
export type BillingAddress = {
  readonly line1: string;
  readonly line2?: string | undefined;
  readonly city: string;
  readonly postalCode: string;
  /** State, province or county; in the United States and in Canada its code, such as CA. */
  readonly region?: string | undefined;
  /** ISO 3166-1 alpha-2, such as DE. */
  readonly country: string;
};

/** CREATED is open; the other statuses are final, and money is captured only in SUCCEEDED. */
export type SessionStatus = "CREATED" | "SUCCEEDED" | "DECLINED" | "DEGRADED" | "EXPIRED";

/** Why a session is EXPIRED: its time was over, its merchant cancelled it, or created another one in its place. */
export type ExpiryReason = "LIFETIME" | "CANCELLED" | "REPLACED";

/**
 * The answer to a creation. Pass `sessionId`, `clientSecret` and `vault` to the widget unchanged, and log none of them.
 */
export type CreatedPaymentSession = {
  readonly sessionId: string;
  readonly clientSecret: string;
  readonly status: "CREATED";
  /** RFC 3339, UTC, as are all times. */
  readonly expiresAt: string;
  readonly vault: Readonly<Record<string, unknown>>;
  readonly orderRef: string;
  readonly amountMinor: number;
  readonly currency: string;
  /** The agreement that the payment begins; it exists a moment after the payment is approved. */
  readonly agreementId?: string;
};

/** A session as lists show it: without its attempts. */
export type PaymentSessionSummary = {
  readonly sessionId: string;
  readonly orderRef: string;
  readonly amountMinor: number;
  readonly currency: string;
  readonly customerEmail?: string;
  readonly status: SessionStatus;
  /** True if a gateway other than the first one captured. */
  readonly failover: boolean;
  /** The gateway that captured. */
  readonly capturedVia?: string;
  /** False while the gateway has accepted the capture and not yet confirmed it. */
  readonly captureConfirmed?: boolean;
  /** The reason that the session ended without a capture: one of the codes in docs/sessions.md. */
  readonly declineCode?: string;
  /** True while the session is submitted and not yet settled. */
  readonly processing: boolean;
  /** The card's last digits are absent if a wallet gave the number of a device. */
  readonly card?: { readonly brand: string; readonly last4?: string };
  /** Present if a wallet paid. */
  readonly wallet?: {
    readonly type?: "apple_pay" | "google_pay";
    readonly credential: "NETWORK_TOKEN" | "PAN";
    /** The last digits of the device's number. */
    readonly tokenLast4?: string;
  };
  readonly createdAt: string;
  readonly expiresAt: string;
  readonly submittedAt?: string;
  readonly settledAt?: string;
  readonly routing?: Routing;
  readonly customerName?: string;
  readonly billingAddress?: BillingAddress;
  /** The metadata given at creation; empty if none was. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly statementDescriptor?: string;
  /** `manual`: captured when you order it. */
  readonly capture: "automatic" | "manual";
  /** The earliest time at which the hold may end, as given at creation. */
  readonly captureBy?: string;
  /** The session that pays the same order, if this one was declined with order_being_paid or order_already_paid. */
  readonly payingSessionId?: string;
  /** The value given at creation; absent if false. */
  readonly allowRepeatedOrder?: boolean;
  /** Set while the amount is held and its capture has not been ordered. `until`: when that ends by itself. */
  readonly held?: { readonly since: string; readonly until: string };
  /** Set if the session is EXPIRED. */
  readonly expiredBecause?: ExpiryReason;
  /** The session that has taken its place. */
  readonly replacedBy?: string;
  /** The value given at creation, until the customer's data is erased. */
  readonly customerRef?: string;
};

/** A session with its attempt trail. */
export type PaymentSession = PaymentSessionSummary & {
  /** Oldest first. */
  readonly attempts: readonly PaymentAttempt[];
  /** Set while the customer has to act; the payment is still processing. `until`: when that ends by itself. */
  readonly awaitingCustomer?: { readonly since: string; readonly until: string };
  /** Oldest first; empty if no authentication was made. */
  readonly authentications: readonly PaymentAuthentication[];
  /** The captured amount: less than `amountMinor` if it was captured in part. Absent before the payment has SUCCEEDED. */
  readonly amountCapturedMinor?: number;
  /** Oldest first; empty if nothing was refunded. */
  readonly refunds: readonly Refund[];
  /** The refunds that have not failed. Absent before the payment has SUCCEEDED. */
  readonly amountRefundedMinor?: number;
  /** The rest that can be refunded. Absent before the payment has SUCCEEDED. */
  readonly amountRefundableMinor?: number;
  /** Oldest first; absent for a payment without a dispute. */
  readonly disputes?: readonly Dispute[];
  /** The sum of the amounts that disputes hold; absent for a payment without a dispute. */
  readonly amountDisputedMinor?: number;
  /** The initiator of the payment; absent for a session without `customerRef`. */
  readonly initiator?: "CUSTOMER" | "MERCHANT";
  /** The stored card that paid, or as which the card of the payment was stored. */
  readonly paymentMethodId?: string;
  /** The agreement that is charged, or that the payment begins. */
  readonly agreementId?: string;
  /** Your reference of the charge, of a payment by agreement. */
  readonly renewalRef?: string;
  /** The state of storing the card; absent if the creation did not ask for it. */
  readonly savedCard?: { readonly status: "PENDING" | "SAVED" | "NOT_WANTED" | "FAILED" };
  /** The earliest time at which an unpaid charge of an agreement may be tried again, if it may. */
  readonly retry?: {
    readonly allowed: boolean;
    readonly notBefore?: string;
    readonly triesLeft: number;
    readonly customerNeeded: boolean;
    readonly because: string;
  };
};

/** A merchant's reason for a refund, which some gateways take. */
export type RefundReason = "requested_by_customer" | "duplicate" | "fraudulent";

/** The fields of a new refund. Without an amount it is for everything that is left. */
export type NewRefund = {
  readonly amountMinor?: number | undefined;
  readonly reason?: RefundReason | undefined;
  /** Your own reference, at most 80 characters. */
  readonly refundRef?: string | undefined;
};

/** A refund of a captured payment, whole or in part. */
export type Refund = {
  readonly refundId: string;
  readonly sessionId: string;
  readonly orderRef: string;
  readonly amountMinor: number;
  readonly currency: string;
  /** SUCCEEDED: on its way to the card. FAILED: the amount can be refunded again. */
  readonly status: "PENDING" | "SUCCEEDED" | "FAILED";
  readonly reason?: RefundReason;
  readonly refundRef?: string;
  /** The gateway that captured. */
  readonly gateway: string;
  readonly gatewayReference?: string;
  /** The gateway's code, or ours: capture_failed, capture_unconfirmed, amount_exceeds_refundable, payment_disputed or never_made. */
  readonly failureCode?: string;
  readonly createdAt: string;
  readonly completedAt?: string;
  /** True if the refund was made at the gateway, not by this service. */
  readonly madeAtGateway?: boolean;
};

/** A dispute of a captured payment: the cardholder's bank takes the money back, or may. */
export type Dispute = {
  readonly disputeId: string;
  readonly sessionId: string;
  readonly orderRef: string;
  readonly attemptId: string;
  readonly gateway: string;
  readonly gatewayReference: string;
  readonly stage: "FRAUD_WARNING" | "INQUIRY" | "CHARGEBACK" | "PRE_ARBITRATION";
  readonly status: "NEEDS_RESPONSE" | "UNDER_REVIEW" | "WON" | "LOST" | "ACCEPTED" | "CLOSED";
  readonly amountMinor: number;
  readonly currency: string;
  /** The amount that refunds may not touch, in the payment's currency. */
  readonly heldMinor: number;
  readonly reason:
    | "fraudulent"
    | "not_received"
    | "not_as_described"
    | "credit_not_processed"
    | "duplicate"
    | "wrong_amount"
    | "cancelled"
    | "processing_error"
    | "other";
  /** The card network's code of the reason, and the network as the gateway names it. */
  readonly networkReasonCode?: string;
  readonly network?: string;
  /** The latest time for a response; after it, the gateway decides. */
  readonly respondBy?: string;
  /** The refunds that had paid the money back already, and how much of `heldMinor` they did. */
  readonly refundIds?: readonly string[];
  readonly overlapMinor?: number;
  /** The amounts taken from you and returned, in order. */
  readonly movements: readonly {
    readonly type: "CHARGEBACK" | "CHARGEBACK_REVERSED";
    readonly amountMinor: number;
    readonly currency: string;
    readonly recordedAt: string;
  }[];
  /** The merchant's answers, oldest first; absent if there are none. */
  readonly responses?: readonly {
    readonly type: "ACCEPT" | "EVIDENCE";
    readonly status: "REQUESTED" | "TAKEN" | "REFUSED";
    readonly stage: Dispute["stage"];
    readonly defense?: string;
    readonly documents?: readonly {
      readonly type: string;
      readonly name: string;
      readonly sizeBytes: number;
      readonly sha256: string;
    }[];
    readonly failureCode?: string;
    readonly createdAt: string;
    readonly answeredAt?: string;
  }[];
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Absent while it is open, also again. */
  readonly closedAt?: string;
};

/** The plan that a submission followed, and the connections that it skipped. */
export type Routing = {
  readonly ruleVersion: number;
  readonly plan: readonly {
    readonly priority: number;
    readonly gateway: string;
    readonly connectionId: string;
    /** OWN: the gateway may run its own customer authentication. IMPORTS: it gets a provider's proof. */
    readonly authentication: "OWN" | "IMPORTS" | "NONE";
  }[];
  readonly skipped: readonly { readonly gateway: string; readonly connectionId: string; readonly because: string }[];
  /** The choice of the plan, if the rule has cases. */
  readonly case?: {
    /** The case whose plan was followed; absent for the default plan. */
    readonly name?: string;
    /** The cases above it that did not apply only because a fact about the payment was unknown. */
    readonly unknown: readonly { readonly case: string; readonly because: string }[];
  };
  /** The arm that the payment fell into, if its plan is split: A is the plan itself, B the other one. */
  readonly split?: {
    readonly arm: "A" | "B";
    /** The share of arm B. */
    readonly percent: number;
    /** The payment's number from 1 to 100: arm B has those up to its share. */
    readonly draw: number;
  };
  /** Why and how the payment was slowed down against card testing; absent for most. */
  readonly brakedBecause?: string;
};

/**
 * The state of an attempt. AWAITING_CUSTOMER: the gateway needs the customer. UNKNOWN: the gateway may or may not hold
 * the amount. VOIDING: the hold is being voided.
 */
export type AttemptStatus =
  | "AUTHORIZING"
  | "AWAITING_CUSTOMER"
  | "AUTHORIZED"
  | "CAPTURED"
  | "DECLINED"
  | "FAILED"
  | "UNKNOWN"
  | "VOIDING"
  | "VOIDED";

/** The reason that an attempt did not capture. */
export type FailureKind = "HARD_DECLINE" | "SOFT_DECLINE" | "FRAUD" | "TIMEOUT" | "GATEWAY_ERROR";

/** An attempt at a gateway. */
export type PaymentAttempt = {
  readonly attemptId: string;
  /** 1 for the first. */
  readonly sequence: number;
  readonly gateway: string;
  readonly connectionId: string;
  readonly priority: number;
  /** The reason that this gateway was called. */
  readonly because: string;
  readonly status: AttemptStatus;
  readonly failureKind?: FailureKind;
  readonly declineCode?: string;
  /** The gateway's own code, as it sent it. */
  readonly gatewayCode?: string;
  readonly gatewayReference?: string;
  readonly startedAt: string;
  readonly completedAt?: string;
  /** The time until the gateway's first answer: the customer's time is not in it, nor what follows a challenge. */
  readonly durationMs?: number;
  /** The step after an attempt that did not capture. */
  readonly next?: { readonly action: "failover" | "authenticate" | "retry" | "stop"; readonly because: string };
  /** 1 for the one repeat at the same gateway, with authentication; absent otherwise. */
  readonly round?: number;
  /** The authentication that the gateway ran within this attempt, or whose proof it got. */
  readonly authenticationId?: string;
};

/**
 * The state of an authentication. PREPARING, METHOD and REQUESTING: the provider is called, the page runs the bank's
 * device check, and the bank decides. CONFIRMING: the customer has answered, and the gateway completes the payment.
 * FAILED and REJECTED: refused by the bank. CANCELLED: given up by the customer. ABANDONED: not finished in time.
 */
export type AuthenticationStatus =
  | "PREPARING"
  | "METHOD"
  | "REQUESTING"
  | "AWAITING_CUSTOMER"
  | "CONFIRMING"
  | "AUTHENTICATED"
  | "ATTEMPTED"
  | "EXEMPTED"
  | "UNAVAILABLE"
  | "FAILED"
  | "REJECTED"
  | "CANCELLED"
  | "ABANDONED";

/** A customer authentication (3-D Secure), by a gateway within an attempt, or by a provider for several gateways. */
export type PaymentAuthentication = {
  readonly authenticationId: string;
  /** 1 for the first. */
  readonly sequence: number;
  readonly by: "GATEWAY" | "PROVIDER";
  readonly gateway?: string;
  readonly provider?: string;
  readonly connectionId: string;
  readonly attemptId?: string;
  /** The reason for this authentication. */
  readonly because: string;
  readonly status: AuthenticationStatus;
  readonly flow: "REDIRECT" | "CHALLENGE" | "FRICTIONLESS";
  readonly version?: string;
  readonly transStatus?: string;
  /** The bank's reason for it: a code of EMV 3DS. */
  readonly transStatusReason?: string;
  readonly eci?: string;
  readonly dsTransactionId?: string;
  /** The party that bears a fraudulent payment. */
  readonly liability?: "ISSUER" | "MERCHANT" | "UNKNOWN";
  /** The part that the customer sees; absent if the customer had no challenge. */
  readonly challenge?: {
    readonly shownAt?: string;
    readonly answeredAt?: string;
    readonly endedBy?: "CUSTOMER" | "BANK" | "DEADLINE";
    readonly durationMs?: number;
  };
  readonly startedAt: string;
  readonly completedAt?: string;
};

/** Filters of a list; without any, it holds all sessions. */
export type SessionFilters = {
  readonly orderRef?: string | undefined;
  /** The customer's whole address; case is ignored. */
  readonly customerEmail?: string | undefined;
  readonly status?: SessionStatus | undefined;
  readonly processing?: boolean | undefined;
  /** `payment` when not given; `setup` for the sessions that store a card without a payment. */
  readonly kind?: "payment" | "setup" | undefined;
  /** Selects only payments by this wallet. */
  readonly wallet?: "apple_pay" | "google_pay" | undefined;
  /** Created at this time or later. */
  readonly createdAfter?: Date | undefined;
  /** Created before this time. */
  readonly createdBefore?: Date | undefined;
  /** 1 to 100; 20 when not given. */
  readonly pageSize?: number | undefined;
};

/** A page, newest first. */
export type SessionPage = {
  readonly paymentSessions: readonly PaymentSessionSummary[];
  /** Absent on the last page. */
  readonly nextPageToken?: string;
};

/** Filters of a list; without any, it holds all disputes. */
export type DisputeFilters = {
  readonly status?: Dispute["status"] | undefined;
  readonly stage?: Dispute["stage"] | undefined;
  readonly gateway?: string | undefined;
  readonly orderRef?: string | undefined;
  /** Needs a response before this time. */
  readonly respondBefore?: Date | undefined;
  /** Created at this time or later. */
  readonly createdAfter?: Date | undefined;
  /** Created before this time. */
  readonly createdBefore?: Date | undefined;
  /** 1 to 100; 20 when not given. */
  readonly pageSize?: number | undefined;
};

/** One page, newest first. */
export type DisputePage = {
  readonly disputes: readonly Dispute[];
  /** Absent on the last page. */
  readonly nextPageToken?: string;
};
