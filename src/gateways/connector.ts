/** The contract between the payment flow and a gateway: every call and every possible answer. Knows no gateway's protocol. */

import type { CardSummary, ForwardFeature } from "../card-vault/card-vault.ts";
import type { WalletOfRequest } from "../platform/card-token.ts";
import type { Secret } from "../platform/secrets.ts";
import type { Amount } from "./amounts.ts";
import type {
  ActionNeeded,
  AuthenticationProof,
  AuthenticationResult,
  AuthenticationWish,
  BrowserData,
  Completion,
  Exemption,
} from "./authentication.ts";
import type { Declined } from "./declines.ts";
import type { DisputeAtGateway, Evidence, ResponseAnswer, ResponseOptions } from "./dispute-answers.ts";
import type { DisputePage, DisputeQuery, PaymentDisputes } from "./dispute-readings.ts";
import type { NetworkTokens } from "./network-tokens.ts";
import type { NotificationReading, RawNotification } from "./notification.ts";
import type { GatewayStatements } from "./statements.ts";
import type { StoredAnswer, StoredCardUse, StoredMethod } from "./stored-cards.ts";

export type { Notification, NotificationKind, NotificationReading, RawNotification } from "./notification.ts";
export type { Chain, StoredAnswer, StoredCardUse, StoredPurpose } from "./stored-cards.ts";

/** Every gateway that has a connector; the same literals are public in `gateway` and `capturedVia`. */
export const gateways = ["STRIPE", "ADYEN", "PAYPAL", "SANDBOX_A", "SANDBOX_B"] as const;
/** A gateway that has a connector. */
export type Gateway = (typeof gateways)[number];

/** A connection's credentials, by the names its connector declares in `credentialFields`. */
export type Credentials = Readonly<Record<string, Secret>>;

/** A value that a merchant enters to connect an account. */
export type CredentialField = {
  readonly name: string;
  readonly label: string;
  /** Anchored pattern of a well-formed value. `verify` checks whether the value works. */
  readonly shape: RegExp;
  /** A sentence for the person entering it: where to find the value, and everything that its shape requires. */
  readonly hint: string;
  /** True if the account works without it. */
  readonly isOptional?: true;
  /** Values that belong elsewhere, each with a message that names them. */
  readonly mistakes?: readonly { readonly shape: RegExp; readonly detail: string }[];
};

/** Fields of every call. When `signal` fires the caller stops waiting; the gateway may still act. */
export type GatewayCall = {
  readonly credentials: Credentials;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
};

/** A call that changes something at the gateway. The same key with the same content changes it once. */
export type ChangingCall = GatewayCall & { readonly idempotencyKey: string };

/** The address to which a card is billed. `country` is an ISO 3166-1 alpha-2 code. */
export type BillingAddress = {
  readonly line1: string;
  readonly line2?: string | undefined;
  readonly city: string;
  readonly postalCode: string;
  readonly region?: string | undefined;
  readonly country: string;
};

/** A card payment to hold. The vault replaces `vaultToken` with the card. */
export type AuthorizeRequest = Amount & {
  /** Our attempt id: the gateway's reference for it, and the name by which its notifications identify it. */
  readonly attemptReference: string;
  readonly sessionId: string;
  readonly vaultToken: Secret;
  readonly orderRef: string;
  readonly customerEmail?: string | undefined;
  readonly customerName?: string | undefined;
  readonly billingAddress?: BillingAddress | undefined;
  readonly shopperIp?: string | undefined;
  readonly shopperUserAgent?: string | undefined;
  readonly statementDescriptor?: string | undefined;
  /** Absent: the gateway must not challenge the customer. */
  readonly authentication?: AuthenticationWish | undefined;
  /** A provider's proof that the customer has authenticated; the gateway must not ask then. */
  readonly proof?: AuthenticationProof | undefined;
  /** The exemption to ask the bank for. It may be refused; then the answer asks for authentication. */
  readonly exemption?: Exemption | undefined;
  /** Absent: the card is used once. */
  readonly storedCard?: StoredCardUse | undefined;
  /** The wallet that the token comes from; absent for a card that was typed. */
  readonly wallet?: WalletOfRequest | undefined;
};

/** The parts of a request with which the vault fills in the card. */
export type CardOfRequest = Pick<AuthorizeRequest, "vaultToken" | "sessionId" | "customerName">;

/**
 * Data of the customer's browser at submission. Only the process that handled the submission knows it, until a gateway
 * needs the customer. With `browser` the page can show actions.
 */
export type Shopper = Pick<AuthorizeRequest, "shopperIp" | "shopperUserAgent"> & {
  readonly browser?: BrowserData | undefined;
};

/** An attempt as identified to the gateway; without a `gatewayReference` if its answer never reached us. */
export type AttemptAtGateway = Amount & {
  readonly attemptReference: string;
  readonly gatewayReference?: string | undefined;
  /**
   * Present for a capture and a void: the attempt's age by the database's clock, the only one that all processes share.
   * For an unrecorded attempt it is the longest possible age. It decides whether the gateway still remembers its keys;
   * an attempt that is being made now has none.
   */
  readonly ageMs?: number | undefined;
  /** Set after a restore: it is unknown if the attempt was ever made, and when within `ageMs`. */
  readonly isUnrecorded?: true | undefined;
  /**
   * Present for a void: the payment's order reference, for a gateway to which the creation must be repeated word for
   * word.
   */
  readonly orderRef?: string | undefined;
  /** The stored card of the authorize, with which the creation is repeated and a record is read for the chain's names. */
  readonly storedCard?: StoredCardUse | undefined;
  /** Present for a void: no chain continues from this attempt, so the gateway also erases the card attached with it. */
  readonly forgetsCard?: true | undefined;
};

/**
 * An attempt that is known to hold money, and a description of its payment, which some gateways take with the capture.
 */
export type Hold = AttemptAtGateway & {
  readonly gatewayReference: string;
  /** The amount to capture in minor units, at most the held one; the rest is released. Absent: the whole amount. */
  readonly captureMinor?: number | undefined;
  /** Time since the attempt began, in milliseconds: the gateway knows none of its keys for longer. */
  readonly attemptAgeMs?: number | undefined;
} & Readonly<Partial<Pick<AuthorizeRequest, "sessionId" | "orderRef" | "statementDescriptor">>>;

/**
 * The gateway may or may not have acted. GATEWAY_ERROR is everything but silence: 5xx, a broken connection, an
 * untrusted answer.
 */
export type Unknown = {
  readonly type: "unknown";
  readonly kind: "TIMEOUT" | "GATEWAY_ERROR";
  readonly reason: string;
  /** Present for an authorize: the gateway's reference for the payment, if it was known before the answer was lost. */
  readonly gatewayReference?: string | undefined;
  /** The answer was lost at our own vault, which says nothing about the gateway. */
  readonly lostAtVault?: true | undefined;
  /** True if nothing was sent, so the gateway has done nothing. */
  readonly isNeverSent?: true | undefined;
  /** The gateway itself answered, but its answer leaves open what it did; it does not count as unhealthy. */
  readonly isAnswered?: true | undefined;
  /** Set if a request that completes a payment was not processed: the customer's action may still hold. */
  readonly notProcessed?: NotProcessed | undefined;
};

/**
 * The reason why provably nothing happened. Only `connection_refused` and `rate_limited` count against the gateway's
 * health.
 */
export type NotProcessedCause =
  | "connection_refused"
  | "rate_limited"
  | "credentials_refused"
  | "request_refused"
  | "token_unusable"
  | "vault_unavailable"
  | "stopped";

/** No byte was sent, or the gateway documents its answer as "not processed". */
export type NotProcessed = {
  readonly type: "notProcessed";
  readonly cause: NotProcessedCause;
  readonly reason: string;
  /** The gateway's own code, if the gateway answered. */
  readonly gatewayCode?: string | undefined;
};

/** A hold for exactly the amount, under exactly our reference. */
export type Held = {
  readonly type: "held";
  readonly gatewayReference: string;
  /** The card network's name for the payment. */
  readonly networkTransactionId?: string | undefined;
  /** The time at which the gateway releases the hold by itself, if it names one. */
  readonly heldUntil?: Date | undefined;
  /** The names of its chain, if the payment has a `storedCard` and the gateway gives any. */
  readonly stored?: StoredAnswer | undefined;
};

/** The answer to an authorize. Only `held` is a success. */
export type GatewayOutcome = Held | ActionNeeded | Declined | NotProcessed | Unknown;

/**
 * An outcome, the card summary if the vault knew the card, and the result of an authentication if there was one: in the
 * answer to an authorize, of one that needed no customer.
 */
export type AuthorizeAnswer = {
  readonly outcome: GatewayOutcome;
  readonly card?: CardSummary | undefined;
  readonly authenticated?: AuthenticationResult | undefined;
};

/**
 * The customer's return brought no answer to this payment: it was made up, another payment's, or early. The action
 * stays open. Only a gateway without a look-up of actions answers so.
 */
export type NotAnswered = { readonly type: "notAnswered" };

/** The answer to completing a payment. */
export type CompletionAnswer = Omit<AuthorizeAnswer, "outcome"> & { readonly outcome: GatewayOutcome | NotAnswered };

/** The gateway refuses. Only a `definitive` refusal is final; any other is worth repeating. */
export type Refused = {
  readonly type: "refused";
  readonly definitive: boolean;
  readonly gatewayCode: string;
};

/**
 * `accepted`: a notification reports the result later. `unknown` is repeated with the same key until the answer is
 * another.
 */
export type CaptureAnswer =
  | ({ readonly type: "done" } & CaptureRecord)
  | ({ readonly type: "accepted" } & CaptureRecord)
  | Refused
  | Unknown;

/** The names of a capture, if the gateway gives them. */
export type CaptureRecord = {
  /** The capture's own reference, which some gateways need for a refund. */
  readonly captureReference?: string | undefined;
  /** The card network's name for the payment. */
  readonly networkTransactionId?: string | undefined;
};

/** `absent`: the account has no such method, and perhaps another one has. */
export type EraseAnswer = { readonly type: "done" } | { readonly type: "absent" } | Refused | Unknown;

/** `absent`: nothing to void *now*; final only after `latestExecutionAt`, or if `refusesVoidedReference`. */
export type VoidAnswer =
  | { readonly type: "done" }
  | { readonly type: "accepted" }
  | { readonly type: "alreadyCaptured" }
  | { readonly type: "absent" }
  | Refused
  | Unknown;

/**
 * The gateway's record. `absent` means that the gateway says there is nothing; anything less certain is `inconclusive`.
 */
export type LookUpAnswer =
  | Held
  /** A hold under our reference, but of another amount or currency: never treated as ours, and voided. */
  | { readonly type: "heldOther"; readonly gatewayReference: string }
  | ({
      readonly type: "captured";
      readonly gatewayReference: string;
      /** The captured amount in minor units, if it is known; at most the held one. */
      readonly capturedMinor?: number | undefined;
    } & CaptureRecord)
  | { readonly type: "voided" }
  | Declined
  | { readonly type: "absent" }
  /**
   * `isUnfound`: the gateway finds nothing by the reference given, which proves nothing; its own reference may find it.
   */
  | { readonly type: "inconclusive"; readonly reason: string; readonly isUnfound?: true };

/**
 * The state of an action. `waiting`: the customer has not answered. `answered`: the completing request may be sent.
 * `failed`: the customer was refused, and nothing is held.
 */
export type ActionAnswer = { readonly type: "waiting" | "answered" | "failed" } | LookUpAnswer;

/** A captured payment, of which money is refunded. `amountMinor` is the amount that was held. */
export type CapturedPayment = AttemptAtGateway & {
  readonly gatewayReference: string;
  /** The captured amount, in minor units. */
  readonly capturedMinor: number;
  /** Absent if the gateway gives none, and for payments older than this field. */
  readonly captureReference?: string | undefined;
};

/**
 * The state of a capture that its gateway had only accepted. `unknown`: it could not be read; with `isAnswered` the gateway
 * answered, and its answer proves nothing.
 */
export type CaptureState =
  | { readonly type: "captured" | "pending" | "failed" }
  | { readonly type: "unknown"; readonly isAnswered?: true };

/** A merchant's reason for a refund, which some gateways take. */
export type RefundReason = "requested_by_customer" | "duplicate" | "fraudulent";

/** A refund as identified to the gateway; without a `gatewayReference` while its answer has not reached us. */
export type RefundAtGateway = Amount & {
  /** Our refund id: the gateway's reference for it. */
  readonly refundReference: string;
  readonly gatewayReference?: string | undefined;
  readonly reason?: RefundReason | undefined;
};

/**
 * The answer to a refund. `done`: on its way to the card. `accepted`: a look-up or a notification reports the result
 * later. `unknown` is repeated with the same key while the gateway remembers it.
 */
export type RefundAnswer =
  | { readonly type: "done"; readonly gatewayReference: string }
  | { readonly type: "accepted"; readonly gatewayReference: string }
  | Refused
  /** `isKept`: the gateway repeats this answer to the key, so only a look-up leads on. */
  | (Unknown & { readonly isKept?: true });

/** The gateway's record of one refund. `absent` only if the gateway's record is authoritative. */
export type RefundRecord =
  | { readonly type: "succeeded"; readonly gatewayReference: string }
  | { readonly type: "pending"; readonly gatewayReference: string }
  | { readonly type: "failed"; readonly gatewayReference?: string | undefined; readonly gatewayCode: string }
  | { readonly type: "absent" }
  | { readonly type: "cannotTell"; readonly reason: string };

/** A refund that the gateway lists; without `refundReference` if it carries none of ours. */
export type ListedRefund = Amount & {
  readonly gatewayReference: string;
  readonly refundReference?: string | undefined;
  readonly status: "succeeded" | "pending" | "failed";
};

/** The part of a connector that refunds captured money. Calls never throw and never repeat themselves. */
export interface GatewayRefunds {
  /** Time in which the gateway surely remembers a key: half its stated life. */
  readonly keyLifeMs: number;
  /** True if the gateway refunds only amounts that it has reported as captured. */
  readonly needsConfirmedCapture: boolean;
  refund(call: ChangingCall, captured: CapturedPayment, refund: RefundAtGateway): Promise<RefundAnswer>;
  /** Reads the record of a refund. If the gateway cannot be read, `cannotTell`: its notifications report. */
  lookUpRefund(call: GatewayCall, captured: CapturedPayment, refund: RefundAtGateway): Promise<RefundRecord>;
  /** Reads every refund of a payment, also those made by hand; undefined if that fails. Absent if it cannot be read. */
  readonly listRefunds?:
    | ((call: GatewayCall, captured: CapturedPayment) => Promise<readonly ListedRefund[] | undefined>)
    | undefined;
}

/** The part of a connector that answers disputes. Calls never throw and never repeat themselves. */
export interface GatewayDisputeAnswers {
  /** False if the explanation has no field: there it is printed in the facts. */
  readonly takesExplanation: boolean;
  /** Returns undefined if the gateway does not say. */
  options(call: GatewayCall, dispute: DisputeAtGateway): Promise<ResponseOptions | undefined>;
  accept(call: ChangingCall, dispute: DisputeAtGateway): Promise<ResponseAnswer>;
  submit(call: ChangingCall, dispute: DisputeAtGateway, evidence: Evidence): Promise<ResponseAnswer>;
}

/** The part of a connector whose gateway lists its disputes. Calls never throw and never repeat themselves. */
export interface GatewayDisputes {
  /** The time that bounds a list: when a dispute was opened, or when it changed. */
  readonly listedBy: "opened" | "changed";
  listDisputes(call: GatewayCall, query: DisputeQuery): Promise<DisputePage>;
  /** Reads every dispute of one payment. */
  disputesOf(call: GatewayCall, captured: CapturedPayment): Promise<PaymentDisputes>;
}

/** The part of a connector whose gateway runs authentication itself. */
export interface GatewayAuthenticator {
  /** True if a hold appears only after our completing request. */
  readonly holdsOnlyWhenAsked: boolean;
  /** Time after an action's end for which a customer may still finish it; 0 where that holds nothing. */
  readonly actionLifeMs: number;
  /** `window`: its page refuses to be framed. */
  readonly framing: "frame" | "window";
  /**
   * Returns the part of a customer's return that leads on, from its query and form fields; undefined if the return only
   * says that the customer is back.
   */
  readReturn(fields: URLSearchParams): string | undefined;
  /**
   * Reports whether a return says that the customer gave up, where the gateway does not know it. Only for gateways that
   * hold nothing without a further request.
   */
  isCancelled?(fields: URLSearchParams): boolean;
  /**
   * Completes a payment whose customer has answered. A repeat has the same key and the same bytes. Anybody may send a
   * return: unless the gateway confirms it for exactly this payment, the answer is `notAnswered`.
   */
  complete(call: ChangingCall, attempt: AttemptAtGateway, completion: Completion): Promise<CompletionAnswer>;
  /** Reads the state of an action; absent if the gateway cannot be read. */
  askAction?(call: GatewayCall, attempt: AttemptAtGateway, completion: Completion): Promise<ActionAnswer>;
}

/** A requirement that a connection must pass before it may be routed to. */
export type VerifyRow = {
  readonly check:
    | "credentials"
    | "account"
    | "environment"
    | "raw_cards"
    | "card_vault"
    | "manual_capture"
    | "currencies"
    | "notification_secret"
    | "acquirer_data"
    | "return_address"
    | "disputes"
    | "settlement"
    | "test_notification";
  /** `pending`: requested; settled when the test notification arrives through the notification intake. */
  readonly state: "passed" | "failed" | "pending";
  readonly required: boolean;
  /** A sentence for the person connecting the account; never a credential. */
  readonly detail: string;
  /** Present for `credentials` that may read it: the gateway's own name of the account that they open. */
  readonly account?: string | undefined;
};

/**
 * A gateway, as the payment flow sees it. Calls never throw and never repeat themselves: every failure is in the
 * answer.
 */
export interface Connector {
  readonly gateway: Gateway;
  /** True if `lookUp` can answer. Otherwise the stored notifications serve as the look-up. */
  readonly canRead: boolean;
  /** True if a voided reference is refused to a late authorize, which makes `absent` and `done` final at once. */
  readonly refusesVoidedReference: boolean;
  /**
   * Longest time that the gateway itself may go on executing an authorize that reached it; part of `latestExecutionAt`.
   */
  readonly executionLimitMs: number;
  /**
   * True if a card can request a timeout or an error, as in a sandbox: then neither counts against the gateway's
   * health.
   */
  readonly failsOnRequest: boolean;
  readonly credentialFields: readonly CredentialField[];
  /** The features that its card requests need of the vault; if the vault lacks one, the gateway cannot be routed to. */
  readonly forwardFeatures: readonly ForwardFeature[];
  /**
   * The networks whose cards every account accepts, as the vault names them; undefined if that depends on the account.
   */
  readonly cardBrands?: readonly string[] | undefined;

  /** Returns why this amount cannot be sent to this gateway exactly, or undefined if it can. */
  whyNotPayable(amount: Amount): string | undefined;
  authorize(call: ChangingCall, request: AuthorizeRequest): Promise<AuthorizeAnswer>;
  /** Captures the hold, or a part of it. */
  capture(call: ChangingCall, hold: Hold): Promise<CaptureAnswer>;
  /**
   * Voids a hold, also one whose answer never reached us. A gateway may replay its answer to a known key: use a new one
   * to repeat.
   */
  void(call: ChangingCall, attempt: AttemptAtGateway): Promise<VoidAnswer>;
  /** Reads the gateway's record; never creates or changes anything. */
  lookUp(call: GatewayCall, attempt: AttemptAtGateway): Promise<LookUpAnswer>;
  /**
   * Reads the state of a capture that the gateway had only accepted. Absent where the answer to a capture is its end, or
   * a notification reports it.
   */
  readonly readCapture?: ((call: GatewayCall, captured: CapturedPayment) => Promise<CaptureState>) | undefined;
  /** Returns every check, also those that could not be tried. */
  verify(call: GatewayCall): Promise<readonly VerifyRow[]>;
  /**
   * The wallets and networks whose device numbers it takes, with a cryptogram and without authentication; absent if it
   * takes none.
   */
  readonly acceptsNetworkToken?: NetworkTokens | undefined;
  /** True if a request can make its acquirer ask for an exemption. */
  readonly asksExemptions?: boolean | undefined;
  /** True if it takes a provider's proof. */
  readonly importsProof?: boolean | undefined;
  /** Absent if no authentication is run, or none that this connector supports. */
  readonly authentication?: GatewayAuthenticator | undefined;
  /** Time for which a hold surely lasts at every account; absent if no hold may be captured later. */
  readonly holdLifeMs?: number | undefined;
  /** Absent if the connector refunds nothing. */
  readonly refunds?: GatewayRefunds | undefined;
  /** Absent if disputes cannot be read: notifications report them. */
  readonly disputes?: GatewayDisputes | undefined;
  /** Absent if the gateway has no statements of its payouts. */
  readonly statements?: GatewayStatements | undefined;
  /** Absent if disputes are answered in the gateway's own pages alone. */
  readonly disputeAnswers?: GatewayDisputeAnswers | undefined;
  /** The chains whose renewals it sends; absent if it stores and continues none. */
  readonly storedCards?: "own" | "network" | undefined;
  /** True if it stores a card with a payment of 0, of which nothing is captured or voided. */
  readonly setsUp?: boolean | undefined;
  /** True if a set-up leaves a card at the gateway: a `void` of 0 ends the set-up, also one whose answer was lost, and erases its card. */
  readonly keepsSetUps?: boolean | undefined;
  /** Erases a payment method that the gateway keeps; a repeat succeeds. Absent if it keeps none. */
  readonly eraseMethod?: ((call: ChangingCall, stored: StoredMethod) => Promise<EraseAnswer>) | undefined;
  /** Checks the signature, then reads; absent if the gateway sends nothing. */
  readNotification?(credentials: Credentials, notification: RawNotification): Promise<NotificationReading>;
}
