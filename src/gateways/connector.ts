/** The contract between the payment flow and a gateway: what can be asked, and every answer there is. Knows no gateway's protocol. */
import type { Secret } from "../platform/secrets.ts";
import type { Amount } from "./amounts.ts";
import type { CardShown } from "./card-forwarder.ts";
import type { ForwardFeature } from "./card-vault.ts";
import type { Declined } from "./declines.ts";

/** Every gateway we have a connector for; the same literals are public in `gateway` and `capturedVia`. */
export const gateways = ["STRIPE", "ADYEN", "PAYPAL", "SANDBOX_A", "SANDBOX_B"] as const;
/** One of them. */
export type Gateway = (typeof gateways)[number];

/** A connection's credentials, by the names its connector declares in `credentialFields`. */
export type Credentials = Readonly<Record<string, Secret>>;

/** One value a merchant enters to connect an account. */
export type CredentialField = {
  readonly name: string;
  readonly label: string;
  /** What a well-formed value looks like; anchored. Whether it works is `verify`'s business. */
  readonly shape: RegExp;
  /** One sentence for the person entering it: where to find the value, and all that its shape asks. */
  readonly hint: string;
  /** Values that are plainly another thing, of which the person is told what they are. */
  readonly mistakes?: readonly { readonly shape: RegExp; readonly detail: string }[];
};

/** What every call carries. When `signal` fires we stop waiting; it says nothing about what the gateway did. */
export type GatewayCall = {
  readonly credentials: Credentials;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
};

/** A call that changes something at the gateway. The same key with the same content changes it once. */
export type ChangingCall = GatewayCall & { readonly idempotencyKey: string };

/** A card payment to be held. The vault fills in the card that `vaultToken` stands for. */
export type AuthorizeRequest = Amount & {
  /** Our attempt id: the gateway's reference for it, and how its notices name it. */
  readonly attemptReference: string;
  readonly sessionId: string;
  readonly vaultToken: Secret;
  readonly orderRef: string;
  readonly customerEmail?: string | undefined;
  readonly shopperIp?: string | undefined;
  readonly shopperUserAgent?: string | undefined;
  readonly statementDescriptor?: string | undefined;
};

/** What was seen of the customer's browser when it submitted; only the process that took the submission knows it. */
export type Shopper = Pick<AuthorizeRequest, "shopperIp" | "shopperUserAgent">;

/** An attempt as the gateway may know it; without a `gatewayReference` when its answer never reached us. */
export type AttemptAtGateway = Amount & {
  readonly attemptReference: string;
  readonly gatewayReference?: string | undefined;
  /** When it was made, by which a gateway's memory of its keys is judged; of a lost one the earliest that it can be. */
  readonly startedAt?: Date | undefined;
  /** After a restore: whether it was ever made, and when since `startedAt`, nobody knows. */
  readonly isLost?: true | undefined;
  /** Given with a void: what the payment was called, for a gateway that has to be asked for it again word for word. */
  readonly orderRef?: string | undefined;
};

/** An attempt that is known to hold money, and what its payment is about, where a gateway takes that with the capture. */
export type Hold = AttemptAtGateway & { readonly gatewayReference: string } & Readonly<
    Partial<Pick<AuthorizeRequest, "sessionId" | "orderRef" | "statementDescriptor">>
  >;

/** The gateway may or may not have acted. GATEWAY_ERROR is everything but silence: 5xx, a broken connection, an answer we cannot trust. */
export type Unknown = {
  readonly type: "unknown";
  readonly kind: "TIMEOUT" | "GATEWAY_ERROR";
  readonly reason: string;
  /** Of an authorize: what the gateway calls the payment, where it said so before the answer was lost. */
  readonly gatewayReference?: string | undefined;
  /** The answer was lost at our own vault, which says nothing about the gateway. */
  readonly lostAtVault?: true | undefined;
};

/** Why provably nothing happened. Only `connection_refused` and `rate_limited` tell anything about the gateway's health. */
export type NotProcessedCause =
  | "connection_refused"
  | "rate_limited"
  | "credentials_refused"
  | "request_refused"
  | "token_unusable"
  | "vault_unavailable"
  | "stopped";

/** Not one byte left us, or the gateway documents its answer as "not processed". */
export type NotProcessed = {
  readonly type: "notProcessed";
  readonly cause: NotProcessedCause;
  readonly reason: string;
};

/** The answer to an authorize. `held` is the only success: a hold, for exactly the amount, under exactly our reference. */
export type GatewayOutcome =
  | { readonly type: "held"; readonly gatewayReference: string }
  | Declined
  | NotProcessed
  | Unknown;

/** An outcome, and what may be shown of the card where the vault could tell. */
export type AuthorizeAnswer = { readonly outcome: GatewayOutcome; readonly card?: CardShown | undefined };

/** The gateway will not do it. Only a `definitive` refusal ends the matter; any other is worth repeating. */
export type Refused = {
  readonly type: "refused";
  readonly definitive: boolean;
  readonly gatewayCode: string;
};

/** `accepted`: taken on, and reported later by a notice. `unknown` is repeated with the same key until it is something else. */
export type CaptureAnswer = { readonly type: "done" } | { readonly type: "accepted" } | Refused | Unknown;

/** `absent`: nothing to void *now*; final only after the horizon, or where `refusesVoidedReference`. */
export type VoidAnswer =
  | { readonly type: "done" }
  | { readonly type: "accepted" }
  | { readonly type: "alreadyCaptured" }
  | { readonly type: "absent" }
  | Refused
  | Unknown;

/** What the gateway has on record. `absent` is its word that there is nothing; anything short of that is `cannotTell`. */
export type LookUpAnswer =
  | { readonly type: "held"; readonly gatewayReference: string }
  /** A hold under our reference, but over another amount or currency: never taken for ours, and given back. */
  | { readonly type: "heldOther"; readonly gatewayReference: string }
  | { readonly type: "captured"; readonly gatewayReference: string }
  | { readonly type: "voided" }
  | Declined
  | { readonly type: "absent" }
  /** `isUnfound`: the gateway finds nothing by what it was asked with, which proves nothing; it may by its own reference. */
  | { readonly type: "cannotTell"; readonly reason: string; readonly isUnfound?: true };

/** One thing that must be right before a connection may be routed to. */
export type VerifyRow = {
  readonly check:
    | "credentials"
    | "environment"
    | "raw_cards"
    | "card_vault"
    | "manual_capture"
    | "currencies"
    | "notification_secret"
    | "test_notice";
  /** `pending`: asked for; settled when the test notice arrives through the notification intake. */
  readonly state: "passed" | "failed" | "pending";
  readonly required: boolean;
  /** One sentence for the person connecting the account; never a credential. */
  readonly detail: string;
};

/** What a notice reports. `already_captured`, `void_refused` and `absent` answer a void; `other` is stored and ignored. */
export type NoticeKind =
  | "held"
  | "declined"
  | "captured"
  | "capture_failed"
  | "voided"
  | "already_captured"
  | "void_refused"
  | "absent"
  | "test"
  | "other";

/** A gateway's signed message in our words. `amount` is absent where its currency or value makes no sense to us. */
export type Notice = {
  /** Unique at this connection; a repeat carries the same one. */
  readonly noticeId: string;
  readonly kind: NoticeKind;
  readonly attemptReference: string;
  /** The reference of the authorization, also in notices about its capture or void. */
  readonly gatewayReference: string;
  readonly amount?: Amount | undefined;
  /** Only with kind `declined`. */
  readonly declined?: Declined | undefined;
};

/** A notification exactly as it arrived. */
export type RawNotification = {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
};

/** `authentic` only when every notice in the body is signed with this connection's secret. */
export type NotificationReading =
  | { readonly type: "authentic"; readonly notices: readonly Notice[] }
  | { readonly type: "refused"; readonly reason: string };

/** One gateway, as the payment flow sees it. Calls never throw and never repeat themselves: whatever went wrong is in the answer. */
export interface Connector {
  readonly gateway: Gateway;
  /** Whether `lookUp` can tell. Where not, the stored notices are the look-up. */
  readonly canRead: boolean;
  /** Whether a reference once voided is refused to a late authorize, which makes `absent` and `done` final at once. */
  readonly refusesVoidedReference: boolean;
  /** How long the gateway itself may go on executing an authorize that reached it: its part of the horizon. */
  readonly executionLimitMs: number;
  /** Whether a card can ask for a timeout or an error, as in a sandbox: then neither tells that the gateway is ill. */
  readonly failsOnRequest: boolean;
  readonly credentialFields: readonly CredentialField[];
  /** What its requests with a card need of the vault; where the vault lacks it, the gateway cannot be routed to. */
  readonly forwardFeatures: readonly ForwardFeature[];
  /** The networks whose cards every account of it takes, as the vault names them; undefined where that is up to the account. */
  readonly cardBrands?: readonly string[] | undefined;

  /** Why this amount cannot be sent to this gateway exactly, or undefined when it can. */
  whyNotPayable(amount: Amount): string | undefined;
  authorize(call: ChangingCall, request: AuthorizeRequest): Promise<AuthorizeAnswer>;
  /** Captures the whole hold. */
  capture(call: ChangingCall, hold: Hold): Promise<CaptureAnswer>;
  /** Gives a hold back, also one whose answer never reached us. A gateway may replay its answer to a known key: ask again with a new one. */
  void(call: ChangingCall, attempt: AttemptAtGateway): Promise<VoidAnswer>;
  /** A read: it never creates or changes anything. */
  lookUp(call: GatewayCall, attempt: AttemptAtGateway): Promise<LookUpAnswer>;
  /** Every check, also those that could not be tried. */
  verify(call: GatewayCall): Promise<readonly VerifyRow[]>;
  /** Checks the signature, then reads; absent where the gateway sends nothing. */
  readNotification?(credentials: Credentials, notification: RawNotification): Promise<NotificationReading>;
}
