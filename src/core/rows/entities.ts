/**
 * The payment session, its attempts and the routing rule as their tables store them. The migrations define constraints
 * and guards.
 */

import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import type { AuthenticationWish, Exemption } from "../../gateways/authentication.ts";
import type { BillingAddress, RefundReason } from "../../gateways/connector.ts";
import type { WalletCredential, WalletName } from "../../platform/card-token.ts";
import type {
  AttemptId,
  AuthenticationId,
  ConnectionId,
  MerchantId,
  RefundId,
  RequestId,
  SessionId,
} from "../../platform/ids.ts";
import {
  attemptTransitions,
  type authenticationTransitions,
  type phaseTransitions,
  type providedTransitions,
  type refundTransitions,
  type StateOf,
  sessionTransitions,
} from "./transitions.ts";

export const sessionStatuses = Object.keys(sessionTransitions) as readonly SessionStatus[];
/** Public state of a session; all but CREATED are final. */
export type SessionStatus = StateOf<typeof sessionTransitions>;

/** Every state of an attempt; docs/safety.md shows the diagram. */
export const attemptStatuses = Object.keys(attemptTransitions) as readonly AttemptStatus[];
export type AttemptStatus = StateOf<typeof attemptTransitions>;

/** Why a gateway processed nothing: it refused the request or the credentials, or did not answer. */
export type Refusal = "REQUEST" | "CREDENTIALS" | "NO_ANSWER";

export const failureKinds = ["HARD_DECLINE", "SOFT_DECLINE", "FRAUD", "TIMEOUT", "GATEWAY_ERROR"] as const;
/** The reason why an attempt was not authorized. */
export type FailureKind = (typeof failureKinds)[number];

/**
 * A person's decision that ends an attempt which its gateway never ends: without money, or with money that was captured
 * once.
 */
export type Decision = "GIVEN_UP" | "CAPTURED";

/** The reason why no further gateway may be tried, whatever the rule says. */
export type Stop =
  | "fraud"
  | "scheme_rule"
  | "same_card_fails"
  | "authentication_required"
  | "authentication_failed"
  | "unclassified"
  | "order_being_paid";

/**
 * A brake on a payment against card testing: its merchant braked, and the card was never approved there, or was
 * before; or most payments of the customer's network were declined.
 */
export type Brake = "NEW_CARD" | "KNOWN_CARD" | "NETWORK";

/** The failure kinds on which a merchant can let a payment fail over. HARD_DECLINE includes soft declines. */
export type FailoverSwitch = "HARD_DECLINE" | "TIMEOUT" | "GATEWAY_ERROR";

export const cryptogramResends = ["NOT_SENT", "UNANSWERED", "DECLINED"] as const;
/**
 * The cases in which a cryptogram may go to another gateway: only if no network can have seen it, also if the gateway
 * did not answer, or also after a decline.
 */
export type CryptogramResend = (typeof cryptogramResends)[number];

/** The payments for which a rule lets gateways ask for the customer: those that need it, all, or none. */
export type AuthenticationRule = "AS_NEEDED" | "ALWAYS" | "NEVER";

/** The choices for a payment whose page sends no data of its browser under ALWAYS. */
export const withoutBrowserChoices = ["DECLINE", "PAY"] as const;
/** The payment is declined, or it is paid as under NEVER. */
export type WithoutBrowser = (typeof withoutBrowserChoices)[number];

/** The merchant's choices about authentication beside its rule. Absent: all false, no exemptions. */
export type AuthenticationPolicy = {
  /** The exemptions to ask for, where the acquirer does so. */
  readonly exemptions: readonly Exemption[];
  /** Payments that need a provider first stop where it cannot authenticate; otherwise they continue without. */
  readonly stopsIfUnavailable: boolean;
  /** After one challenge, no other gateway challenges the customer. */
  readonly forbidsSecondChallenge: boolean;
  /** Absent: DECLINE. */
  readonly withoutBrowser?: WithoutBrowser | undefined;
  /** The rule also decides about payments that begin an agreement, and set-ups; absent or false: they are always authenticated. */
  readonly savingAsRule?: boolean | undefined;
};

/** A merchant's account at a provider of authentication, with the credentials that a payment uses. */
export type PlannedProvider = {
  readonly name: string;
  readonly connectionId: ConnectionId;
  readonly credentialVersion: number;
};

export type PlannedConnection = {
  readonly priority: number;
  readonly gateway: string;
  readonly connectionId: ConnectionId;
  readonly credentialVersion: number;
  /** The wish that the gateway gets with its permission to challenge the customer; absent if it gets none. */
  readonly authentication?: AuthenticationWish["wish"] | undefined;
  /** The provider whose proof the gateway gets; without a proof it must not ask before the provider has. */
  readonly provider?: PlannedProvider | undefined;
  /** True if the provider authenticates before this gateway is called, unless the request asks for an exemption. */
  readonly providerFirst?: true | undefined;
  /** True if the payment stops here where the provider could not authenticate the customer. */
  readonly stopsIfUnavailable?: true | undefined;
  /** True if this gateway may not challenge a customer who has had a challenge. */
  readonly onlyFirstChallenge?: true | undefined;
  /** The exemption that the request asks for, unless it gets a proof. */
  readonly exemption?: Exemption | undefined;
  /** The reason why the gateway gets no proof, if the plan has a provider. */
  readonly withoutProof?: string | undefined;
};

/** A connection that the plan left out, with the reason. */
export type SkippedConnection = {
  readonly gateway: string;
  readonly connectionId: ConnectionId;
  readonly because: string;
};

export type CardType = "CREDIT" | "DEBIT" | "PREPAID";

/** Facts about a card beside its last digits. An absent one is unknown. */
export type CardFacts = {
  /** The network, such as `visa`. */
  readonly brand?: string | undefined;
  readonly type?: CardType | undefined;
  /** ISO 3166-1 alpha-2 code of the country whose bank issued the card. */
  readonly country?: string | undefined;
};

/** The cards whose number begins with these digits. */
export type CardRange = {
  /** Six to eight digits. */
  readonly digits: string;
  readonly country?: string | undefined;
  readonly type?: CardType | undefined;
};

export type Weekday = "MONDAY" | "TUESDAY" | "WEDNESDAY" | "THURSDAY" | "FRIDAY" | "SATURDAY" | "SUNDAY";

/** A time of the week: its days, and hours from `from` to before `until`, such as `22:00`; past midnight if later. */
export type TimeCondition = {
  /** Name in the IANA database, such as `Europe/Berlin`. */
  readonly timeZone: string;
  /** Absent: every day. */
  readonly days?: readonly Weekday[] | undefined;
  /** Both or neither; neither means the whole day. */
  readonly from?: string | undefined;
  readonly until?: string | undefined;
};

/** The conditions of a case. All that are present must hold; a list holds if one of its values does. */
export type RouteConditions = {
  readonly currencies?: readonly string[] | undefined;
  /** Inclusive. A range of amounts needs `currencies`, all with as many decimals. */
  readonly amountFromMinor?: number | undefined;
  readonly amountToMinor?: number | undefined;
  readonly cardBrands?: readonly string[] | undefined;
  readonly cardTypes?: readonly CardType[] | undefined;
  readonly issuingCountries?: readonly string[] | undefined;
  readonly billingCountries?: readonly string[] | undefined;
  /** All must hold: the session has the key with one of the values. */
  readonly metadata?: readonly { readonly key: string; readonly values: readonly string[] }[] | undefined;
  readonly time?: TimeCondition | undefined;
};

/** The two plans of a split: A is the plan that has it, B the plan that it names. */
export type Arm = "A" | "B";

/** A share of a plan's payments that follows another plan, to compare the two. */
export type Split = {
  /** The share of arm B in whole percent, 1 to 99. */
  readonly percent: number;
  /** The plan of arm B by priority, highest first. */
  readonly connectionIds: readonly ConnectionId[];
};

/** A case of a rule: payments on which its conditions hold are planned over its own connections. */
export type RoutingCase = {
  /** Unique in its rule. */
  readonly name: string;
  readonly conditions: RouteConditions;
  /** The connections by priority, highest first. */
  readonly connectionIds: readonly ConnectionId[];
  readonly split?: Split | undefined;
  /** ALWAYS: each payment of the case is authenticated. Absent: as the rule says. */
  readonly authentication?: "ALWAYS" | undefined;
};

/** The cases of a rule, in the order in which they are checked, and the card ranges that the merchant has entered. */
export type RoutingCases = { readonly list: readonly RoutingCase[]; readonly cardRanges: readonly CardRange[] };

/** The case, the facts and the arm by which a rule with cases or a split planned a payment. */
export type RoutedBy = {
  /** The name of the case; absent for the default plan. */
  readonly case?: string | undefined;
  /** The cases above it that did not apply because a fact was unknown. */
  readonly unknown?: readonly { readonly case: string; readonly because: string }[] | undefined;
  readonly card?: CardFacts | undefined;
  /** True if the rule has no cases, only a split. */
  readonly isWithoutCases?: true | undefined;
  /** The arm that the payment fell into, where its plan is split. */
  readonly split?: DrawnArm | undefined;
  /** The authentication that the case demands, whatever the rule says. */
  readonly authentication?: "ALWAYS" | undefined;
};

/** The arm of a payment, the share of arm B, and the payment's number from 1 to 100: arm B has those up to its share. */
export type DrawnArm = { readonly arm: Arm; readonly percent: number; readonly draw: number };

/** The optional description of an order. Erasing a customer's data takes the first two away. */
export type OrderDetails = {
  readonly customerName?: string;
  readonly billingAddress?: BillingAddress;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly statementDescriptor?: string;
};

/** The columns of `payment_session`. */
export const PaymentSessionEntity = defineEntity({
  name: "PaymentSession",
  tableName: "payment_session",
  properties: {
    id: p.uuid().primary(),
    merchantId: p.uuid(),
    amountMinor: p.bigint("number"),
    currency: p.text(),
    orderRef: p.text(),
    customerEmail: p.text().nullable(),
    details: p.json<OrderDetails>().nullable(),
    secretVersion: p.integer(),
    status: p.text().$type<SessionStatus>(),
    phase: p.text().$type<StateOf<typeof phaseTransitions>>(),
    leaseEpoch: p.integer(),
    leaseUntil: p.datetime().nullable(),
    submitDeadline: p.datetime().nullable(),
    vaultToken: p.text().nullable(),
    tokenHash: p.blob().nullable(),
    cardBrand: p.text().nullable(),
    cardLast4: p.text().nullable(),
    ruleVersion: p.integer().nullable(),
    plan: p.json<PlannedConnection[]>().nullable(),
    skipped: p.json<SkippedConnection[]>().nullable(),
    routedBy: p.json<RoutedBy>().nullable(),
    winnerAttemptId: p.uuid().nullable(),
    capturedAttemptId: p.uuid().nullable().persist(false),
    pinned: p.boolean(),
    capturedVia: p.text().nullable(),
    captureConfirmed: p.boolean().nullable(),
    failover: p.boolean(),
    declineCode: p.text().nullable(),
    expiredBecause: p.text().$type<"CANCELLED" | "REPLACED">().nullable(),
    replacedBy: p.uuid().nullable(),
    pendingEventAt: p.datetime().nullable(),
    createdAt: p.datetime(),
    expiresAt: p.datetime(),
    submittedAt: p.datetime().nullable(),
    settledAt: p.datetime().nullable(),
    manualCapture: p.boolean(),
    captureBy: p.datetime().nullable(),
    heldAt: p.datetime().nullable(),
    heldUntil: p.datetime().nullable(),
    captureDueAt: p.datetime().nullable(),
    captureAskedAt: p.datetime().nullable(),
    allowRepeatedOrder: p.boolean(),
    payingSessionId: p.uuid().nullable(),
    brakes: p.array<Brake>().columnType("text[]").nullable(),
    createRequestId: p.uuid().nullable(),
    submitRequestId: p.uuid().nullable(),
    unrecordedCheckAt: p.datetime().nullable(),
    unrecordedVoids: p.json<Readonly<Record<string, string>>>().nullable(),
    awaitingSince: p.datetime().nullable(),
    authentications: p.smallint(),
    refunds: p.smallint(),
    disputes: p.smallint(),
    customerRef: p.text().nullable(),
    stored: p.boolean(),
    namedBy: p.uuid().nullable(),
    wallet: p.text().$type<WalletName>().nullable(),
    walletCredential: p.text().$type<WalletCredential>().nullable(),
    cryptogramResend: p.text().$type<CryptogramResend>().nullable(),
  },
});

/** The columns of `attempt` that the flow reads and writes. */
export const AttemptEntity = defineEntity({
  name: "Attempt",
  tableName: "attempt",
  properties: {
    sessionId: p.uuid().primary(),
    id: p.uuid().primary(),
    sequence: p.integer(),
    gateway: p.text(),
    connectionId: p.uuid(),
    credentialVersion: p.integer(),
    priority: p.integer(),
    because: p.text(),
    amountMinor: p.bigint("number"),
    currency: p.text(),
    status: p.text().$type<AttemptStatus>(),
    failureKind: p.text().$type<FailureKind>().nullable(),
    stop: p.text().$type<Stop>().nullable(),
    declineCode: p.text().nullable(),
    gatewayCode: p.text().nullable(),
    refusal: p.text().$type<Refusal>().nullable(),
    gatewayReference: p.text().nullable(),
    nextAction: p.text().$type<"failover" | "authenticate" | "retry" | "stop">().nullable(),
    nextBecause: p.text().nullable(),
    captureOrderedAt: p.datetime().nullable(),
    capturedAmountMinor: p.bigint("number").nullable(),
    orderedAmountMinor: p.bigint("number").nullable(),
    captureReference: p.text().nullable(),
    networkTransactionId: p.text().nullable(),
    captureRefusalCode: p.text().nullable(),
    voidKind: p.text().$type<"VOIDED" | "NEVER_EXISTED" | "GIVEN_UP">().nullable(),
    decision: p.text().$type<Decision>().nullable(),
    decisionReference: p.text().nullable(),
    decisionAmountMinor: p.bigint("number").nullable(),
    decisionConfirmedAt: p.datetime().nullable(),
    lookedUpAt: p.datetime().nullable(),
    voidAskedAt: p.datetime().nullable(),
    latestExecutionAt: p.datetime(),
    retries: p.integer(),
    nextRetryAt: p.datetime().nullable(),
    startedAt: p.datetime(),
    answeredAt: p.datetime().nullable(),
    completedAt: p.datetime().nullable(),
    holds: p.boolean().persist(false),
    captured: p.boolean().persist(false),
    round: p.smallint(),
    authenticationId: p.uuid().nullable(),
    captureFailedAt: p.datetime().nullable(),
  },
});

export type AuthenticationStatus = StateOf<typeof authenticationTransitions> | StateOf<typeof providedTransitions>;

/** The party that bears a fraudulent payment, as the gateway says. */
export type Liability = "ISSUER" | "MERCHANT" | "UNKNOWN";

/** The columns of `authentication` that the flow reads. The sealed ones are loaded where they are needed. */
export const AuthenticationEntity = defineEntity({
  name: "Authentication",
  tableName: "authentication",
  properties: {
    sessionId: p.uuid().primary(),
    id: p.uuid().primary(),
    sequence: p.smallint(),
    attemptId: p.uuid().nullable(),
    connectionId: p.uuid(),
    because: p.text(),
    flow: p.text().$type<"FRICTIONLESS" | "CHALLENGE" | "REDIRECT">(),
    status: p.text().$type<AuthenticationStatus>(),
    holdsOnlyWhenAsked: p.boolean(),
    actionLifeMs: p.integer(),
    deadlineAt: p.datetime(),
    shownCount: p.smallint(),
    shownAt: p.datetime().nullable(),
    cancelAskedAt: p.datetime().nullable(),
    answeredAt: p.datetime().nullable(),
    completionsSent: p.smallint(),
    version: p.text().nullable(),
    transStatus: p.text().nullable(),
    eci: p.text().nullable(),
    dsTransactionId: p.text().nullable(),
    liability: p.text().$type<Liability>().nullable(),
    transStatusReason: p.text().nullable(),
    provider: p.text().nullable(),
    credentialVersion: p.integer().nullable(),
    nextLookAt: p.datetime().nullable(),
    startedAt: p.datetime(),
    completedAt: p.datetime().nullable(),
  },
});

export type RefundStatus = StateOf<typeof refundTransitions>;

/** The columns of `refund`. */
export const RefundEntity = defineEntity({
  name: "Refund",
  tableName: "refund",
  properties: {
    sessionId: p.uuid().primary(),
    id: p.uuid().primary(),
    merchantId: p.uuid(),
    attemptId: p.uuid(),
    connectionId: p.uuid(),
    gateway: p.text(),
    amountMinor: p.bigint("number"),
    currency: p.text(),
    status: p.text().$type<RefundStatus>(),
    origin: p.text().$type<"MERCHANT" | "GATEWAY">(),
    reason: p.text().$type<RefundReason>().nullable(),
    refundRef: p.text().nullable(),
    madeBy: p.text().nullable(),
    gatewayReference: p.text().nullable(),
    failureCode: p.text().nullable(),
    sends: p.integer(),
    keys: p.smallint(),
    unanswered: p.integer(),
    keyUntil: p.datetime().nullable(),
    firstSentAt: p.datetime().nullable(),
    sentAt: p.datetime().nullable(),
    lookUpFirst: p.boolean(),
    absentAt: p.datetime().nullable(),
    retries: p.integer(),
    nextTryAt: p.datetime().nullable(),
    pendingEventAt: p.datetime().nullable(),
    clearedAt: p.datetime().nullable(),
    decision: p.text().$type<"SUCCEEDED" | "FAILED">().nullable(),
    decisionReference: p.text().nullable(),
    decidedBy: p.text().nullable(),
    decisionReason: p.text().nullable(),
    disputeId: p.uuid().nullable(),
    disputeBy: p.text().nullable(),
    disputeReason: p.text().nullable(),
    createdAt: p.datetime(),
    completedAt: p.datetime().nullable(),
    succeededAt: p.datetime().nullable(),
  },
});

/** The columns of `routing_rule`. */
export const RoutingRuleEntity = defineEntity({
  name: "RoutingRule",
  tableName: "routing_rule",
  properties: {
    merchantId: p.uuid().primary(),
    version: p.integer().primary(),
    connectionIds: p.array<ConnectionId>().columnType("uuid[]"),
    failoverOn: p.array<FailoverSwitch>().columnType("text[]"),
    retriesSameGateway: p.boolean(),
    authentication: p.text().$type<AuthenticationRule>(),
    providerId: p.uuid().nullable(),
    policy: p.json<AuthenticationPolicy>().nullable(),
    cases: p.json<RoutingCases>().nullable(),
    split: p.json<Split>().nullable(),
    cryptogramResend: p.text().$type<CryptogramResend>(),
    createdAt: p.datetime(),
    setBy: p.text().nullable(),
    restoredFrom: p.integer().nullable(),
  },
});

/** The rows of an entity, whose ids name their tables. */
type WithIds<Row, Ids> = {
  [Name in keyof Row]: Name extends keyof Ids ? Ids[Name] | Exclude<Row[Name], string> : Row[Name];
};

/** A payment of one customer, from its creation to its single end. */
export type PaymentSession = WithIds<
  InferEntity<typeof PaymentSessionEntity>,
  {
    id: SessionId;
    merchantId: MerchantId;
    winnerAttemptId: AttemptId;
    capturedAttemptId: AttemptId;
    replacedBy: SessionId;
    payingSessionId: SessionId;
    namedBy: SessionId;
    createRequestId: RequestId;
    submitRequestId: RequestId;
  }
>;
export type Attempt = WithIds<
  InferEntity<typeof AttemptEntity>,
  { sessionId: SessionId; id: AttemptId; connectionId: ConnectionId; authenticationId: AuthenticationId }
>;
/** A run of 3-D Secure inside an attempt, at the gateway that asked for it. */
export type Authentication = WithIds<
  InferEntity<typeof AuthenticationEntity>,
  { sessionId: SessionId; id: AuthenticationId; attemptId: AttemptId; connectionId: ConnectionId }
>;
/** A version of a merchant's rule: the order of its gateways, and the failures after which the next one is tried. */
export type RoutingRule = WithIds<
  InferEntity<typeof RoutingRuleEntity>,
  { merchantId: MerchantId; providerId: ConnectionId }
>;
/** A refund of a captured payment. */
export type Refund = WithIds<
  InferEntity<typeof RefundEntity>,
  { sessionId: SessionId; id: RefundId; merchantId: MerchantId; attemptId: AttemptId; connectionId: ConnectionId }
>;
