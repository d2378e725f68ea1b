/**
 * The functions of src/migrations/environment/payment-functions.sql: each is one commit of a payment, and one statement. Their times
 * are whole milliseconds, so the rows that they leave are known without reading them. They throw what `underLease` returns as lost.
 */
import type { CardSummary } from "../../card-vault/card-vault.ts";
import { overdueAfterMs, prepareEvent } from "../../events/outbox.ts";
import type { CaptureRecord } from "../../gateways/connector.ts";
import type { StoredAnswer } from "../../gateways/stored-cards.ts";
import { gatewayReferenceCharactersMax, leaseMs, leaseUsedMs, openingMarginMs } from "../../limits.ts";
import { callOf } from "../../platform/batches.ts";
import type { CardFingerprint, WalletCredential, WalletName } from "../../platform/card-token.ts";
import { columnsOf } from "../../platform/columns.ts";
import type { Queryable } from "../../platform/database.ts";
import { type AttemptId, type AuthenticationId, encodeId, type RequestId, type SessionId } from "../../platform/ids.ts";
import { type Secret, sha256 } from "../../platform/secrets.ts";
import type { Block } from "../card-testing/blocked.ts";
import { type CardBrake, ClaimRefused, cardLimits } from "../card-testing/card-counts.ts";
import type { Core } from "../core.ts";
import type { Plan } from "../decide/plan-route.ts";
import {
  type Attempt,
  type Brake,
  type CryptogramResend,
  type PaymentSession,
  PaymentSessionEntity,
  type RoutedBy,
} from "../rows/entities.ts";
import { isFailover, type Payment } from "../rows/payment.ts";
import { type Lease, LeaseLost, notClaimable, settingsChanged } from "./lease.ts";
import { loadSession } from "./load-session.ts";

/** A submission that claims its session. */
export type Claim = {
  readonly sessionId: SessionId;
  readonly vaultToken: Secret;
  readonly ruleVersion: number;
  readonly plan: Plan;
  readonly routedBy?: RoutedBy | undefined;
  readonly submissionBudgetMs: number;
  readonly requestId?: RequestId | undefined;
  /** Lets a process that takes the session over challenge the customer. */
  readonly browserSealed?: string | undefined;
  readonly fingerprint?: CardFingerprint | undefined;
  /** True if the submission counts against its card and its customer's network. */
  readonly isCounted?: boolean | undefined;
  /** The customer's, if it is a public one. */
  readonly address?: string | undefined;
  /** The customer's, if networks count. */
  readonly network?: string | undefined;
  /** True if the network's declines do not refuse the submission. */
  readonly isPastNetwork?: boolean | undefined;
  readonly brakes?: readonly Brake[] | undefined;
  /** True for a payment that is declined for another reason: it is not counted, and no block list is read. */
  readonly isDeclined?: boolean | undefined;
  /** The settings that allowed the customer's page, if they were not read for this submission. */
  readonly settings?: string | undefined;
  /** The wallet's credential, and the rule for its second use. */
  readonly byWallet?: ByWallet | undefined;
};

/** A wallet's credential for a session, with its rule. */
export type ByWallet = {
  readonly credential: WalletCredential;
  readonly resend: CryptogramResend;
  /** Undefined if the token does not name the wallet and the vault has not answered. */
  readonly wallet: WalletName | undefined;
};

/** Thrown when the settings have changed since they were read; the session is not claimed. */
export class SettingsChanged extends Error {
  override readonly name = "SettingsChanged";
}

/** The request of an attempt before it is opened. `latestExecutionMs` counts from its start. */
export type Opening = Pick<
  Attempt,
  | "sessionId"
  | "id"
  | "gateway"
  | "connectionId"
  | "credentialVersion"
  | "priority"
  | "because"
  | "amountMinor"
  | "currency"
> & {
  readonly round: number;
  readonly authenticationId: AuthenticationId | null;
  readonly latestExecutionMs: number;
};

const claimCall = callOf(
  "claim",
  (
    "uuid int int text bytea int jsonb jsonb uuid jsonb text uuid text uuid int int text int text inet boolean boolean int int cidr int " +
    "text text text"
  ).split(" "),
  columnsOf(PaymentSessionEntity, "r"),
);

/**
 * Claims a session for its one submission, and opens its first attempt, if any. Lost when the session was submitted,
 * expired or ended before. Throws `ClaimRefused` if the card or its network was tried too often, or the merchant has
 * blocked the customer, and `SettingsChanged`.
 */
export async function claimSession(
  queryable: Queryable,
  claim: Claim,
  first?: Opening,
): Promise<Payment & { readonly readAt: Date }> {
  const token = claim.vaultToken.expose();
  const [row] = await queryable.query<PaymentSession | RefusedClaim>(claimCall, [
    claim.sessionId,
    leaseMs,
    claim.submissionBudgetMs,
    token,
    sha256(token),
    claim.ruleVersion,
    JSON.stringify(claim.plan.plan),
    JSON.stringify(claim.plan.skipped),
    claim.requestId ?? null,
    claim.routedBy ? JSON.stringify(claim.routedBy) : null,
    claim.browserSealed ?? null,
    first?.id ?? null,
    first?.gateway ?? null,
    first?.connectionId ?? null,
    first?.credentialVersion ?? null,
    first?.priority ?? null,
    first?.because ?? null,
    first?.latestExecutionMs ?? null,
    claim.fingerprint?.versions.join(" ") ?? null,
    claim.address ?? null,
    !claim.isDeclined,
    claim.isCounted ?? false,
    cardLimits.submissionsPerHour,
    cardLimits.declinesPerDay,
    claim.network ?? null,
    claim.isPastNetwork ? null : cardLimits.declinedPerNetwork,
    claim.brakes?.join(" ") || null,
    claim.settings ?? null,
    claim.byWallet ? Object.values(claim.byWallet).join(" ").trim() : null,
  ]);
  const session = requireClaimed(row!);
  const readAt = session.submittedAt!;
  const attempts = first === undefined ? [] : [opened(first, readAt)];
  return { session, attempts, authentications: [], refunds: [], readAt };
}

type RefusedClaim = { readonly id: null; readonly declineCode: string; readonly skipped: unknown };

function requireClaimed(row: PaymentSession | RefusedClaim): PaymentSession {
  if (row.id !== null) return row;
  if (row.declineCode === notClaimable) throw new LeaseLost(notClaimable);
  if (row.declineCode === settingsChanged) throw new SettingsChanged(settingsChanged);
  throw new ClaimRefused((row.skipped as Block | null) ?? (row.declineCode as CardBrake));
}

function opened({ latestExecutionMs, ...asked }: Opening, at: Date, sequence = 1): Attempt {
  return {
    ...asked,
    sequence,
    status: "AUTHORIZING",
    failureKind: null,
    stop: null,
    declineCode: null,
    gatewayCode: null,
    refusal: null,
    gatewayReference: null,
    nextAction: null,
    nextBecause: null,
    captureOrderedAt: null,
    capturedAmountMinor: null,
    orderedAmountMinor: null,
    captureReference: null,
    networkTransactionId: null,
    captureRefusalCode: null,
    voidKind: null,
    decision: null,
    decisionReference: null,
    decisionAmountMinor: null,
    decisionConfirmedAt: null,
    lookedUpAt: null,
    voidAskedAt: null,
    latestExecutionAt: new Date(at.getTime() + latestExecutionMs),
    retries: 0,
    nextRetryAt: null,
    startedAt: at,
    answeredAt: null,
    completedAt: null,
    holds: false,
    captured: false,
    captureFailedAt: null,
  };
}

/** The gateway's reference of a hold, and the card network's if the gateway gave one. */
export type HoldNames = {
  readonly gatewayReference: string;
  readonly networkTransactionId?: string | undefined;
  readonly heldUntil?: Date | undefined;
  readonly stored?: StoredAnswer | undefined;
};

/** Returns a name that the gateway gave, if it may be one. */
export function usable(name: string | undefined): string | null {
  return name !== undefined && name.length <= gatewayReferenceCharactersMax ? name : null;
}

const heldCall = callOf(
  "held",
  "uuid int uuid timestamptz text text int int text text".split(" "),
  'r.recorded_at AS at, r.is_news AS "isNews"',
);

/**
 * Records the hold that an authorization has answered with: its attempt becomes the winner, every unknown attempt is voided, and the
 * capture of the whole amount is ordered. Not for a payment that is captured later.
 */
export async function recordHeldAndOrdered(
  queryable: Queryable,
  lease: Lease,
  held: {
    readonly loaded: Payment;
    readonly attempt: Attempt;
    readonly hold: HoldNames;
    readonly card: CardSummary | undefined;
  },
): Promise<Payment> {
  const { loaded, attempt, hold, card } = held;
  const { gatewayReference } = hold;
  const network = usable(hold.networkTransactionId);
  const [row] = await queryable.query<{ at: Date; isNews: boolean }>(heldCall, [
    lease.sessionId,
    lease.epoch,
    attempt.id,
    loaded.readAt,
    gatewayReference,
    network,
    leaseMs,
    leaseMs - leaseUsedMs,
    card?.brand ?? null,
    card?.last4 ?? null,
  ]);
  const { at, isNews } = row!;
  if (isNews) return loadSession(queryable, lease.sessionId);
  const networkTransactionId = network ?? attempt.networkTransactionId;
  const winner: Attempt = {
    ...attempt,
    status: "AUTHORIZED",
    holds: true,
    gatewayReference,
    networkTransactionId,
    answeredAt: attempt.answeredAt ?? at,
    captureOrderedAt: at,
    capturedAmountMinor: attempt.amountMinor,
  };
  const { session } = loaded;
  const { brand = session.cardBrand, last4 = session.cardLast4 } = card ?? {};
  return {
    ...loaded,
    session: { ...session, winnerAttemptId: attempt.id, cardBrand: brand, cardLast4: last4 },
    attempts: loaded.attempts.map((one) => {
      if (one.id === attempt.id) return winner;
      return one.status === "UNKNOWN" ? { ...one, status: "VOIDING", retries: 0, nextRetryAt: null } : one;
    }),
    readAt: at,
  };
}

const capturedCall = callOf(
  "captured",
  "uuid int uuid timestamptz text text boolean boolean text text int int uuid text text int".split(" "),
  `r.ended_at AS "createdAt", r.event_sequence AS sequence, r.event_bytes AS body`,
);

/**
 * Records the capture of the winner and ends the session with its event. Returns undefined, and records nothing, where the gateway has
 * already reported on the capture, or another attempt has changed since it was read.
 */
export async function recordCapturedAndEnded(
  core: Pick<Core, "database" | "outbox" | "describeSession">,
  lease: Lease,
  captured: {
    readonly loaded: Payment;
    readonly attempt: Attempt;
    readonly capture: CaptureRecord;
    readonly isConfirmed: boolean;
  },
): Promise<Payment | undefined> {
  const { loaded, attempt, capture, isConfirmed } = captured;
  const reference = usable(capture.captureReference);
  const network = usable(capture.networkTransactionId);
  const hasOpen = loaded.attempts.some(({ id, completedAt }) => id !== attempt.id && completedAt === null);
  const endedAt = (at: Date): Payment => ({
    ...loaded,
    session: {
      ...loaded.session,
      status: "SUCCEEDED",
      phase: hasOpen ? "PROCESSING" : "DONE",
      settledAt: at,
      vaultToken: null,
      capturedVia: attempt.gateway,
      captureConfirmed: isConfirmed,
      failover: isFailover(attempt),
      capturedAttemptId: attempt.id,
    },
    attempts: loaded.attempts.map((one) =>
      one.id === attempt.id
        ? {
            ...one,
            status: "CAPTURED",
            captured: true,
            completedAt: at,
            captureReference: one.captureReference ?? reference,
            networkTransactionId: network ?? one.networkTransactionId,
          }
        : one,
    ),
    readAt: at,
  });
  const { session } = loaded;
  const type = session.amountMinor === 0 ? "setup_session.succeeded" : "payment_session.succeeded";
  const event = prepareEvent(core.outbox, { sessionId: session.id, merchantId: session.merchantId, type }, (later) => {
    const described = core.describeSession(endedAt(new Date(0))) as {
      settledAt: string;
      attempts: { attemptId: AttemptId; completedAt?: string }[];
    };
    described.settledAt = later.settled;
    for (const one of described.attempts)
      if (one.attemptId === encodeId("att", attempt.id)) one.completedAt = later.settled;
    return described;
  });
  type Row = { createdAt: Date; sequence: number; body: Uint8Array };
  const [row] = await core.database.query<Row>(capturedCall, [
    lease.sessionId,
    lease.epoch,
    attempt.id,
    loaded.readAt,
    encodeId("att", attempt.id),
    attempt.gateway,
    isConfirmed,
    isFailover(attempt),
    reference,
    network,
    leaseMs,
    leaseMs - leaseUsedMs,
    event.id,
    encodeId("evt", event.id),
    event.body,
    overdueAfterMs,
  ]);
  if (row === undefined) return undefined;
  event.committed(row);
  return endedAt(row.createdAt);
}

const failedCall = callOf(
  "failed",
  "uuid int uuid timestamptz text text text text text text text text int int int uuid text uuid int int text int".split(
    " ",
  ),
  "r AS at",
);

/** The end of an attempt that another one follows. */
export type FailedOver = Pick<Attempt, "failureKind" | "declineCode" | "gatewayCode" | "refusal"> & {
  readonly status: "DECLINED" | "FAILED" | "UNKNOWN";
};

/**
 * Records the failure of an attempt and opens the next one of the plan. Returns undefined, and records nothing, where more than the plan
 * decides what follows, the time is over, or another attempt has changed since it was read.
 */
export async function recordFailedAndOpened(
  queryable: Queryable,
  lease: Lease,
  failed: {
    readonly loaded: Payment;
    readonly attempt: Attempt;
    readonly as: FailedOver;
    readonly because: string;
    readonly card: CardSummary | undefined;
    readonly next: Opening;
  },
): Promise<Payment | undefined> {
  const { loaded, attempt, as, because, card, next } = failed;
  const [row] = await queryable.query<{ at: Date | null }>(failedCall, [
    lease.sessionId,
    lease.epoch,
    attempt.id,
    loaded.readAt,
    as.status,
    as.failureKind,
    as.declineCode,
    as.gatewayCode,
    as.refusal,
    because,
    card?.brand ?? null,
    card?.last4 ?? null,
    leaseMs,
    leaseMs - leaseUsedMs,
    openingMarginMs,
    next.id,
    next.gateway,
    next.connectionId,
    next.credentialVersion,
    next.priority,
    next.because,
    next.latestExecutionMs,
  ]);
  const at = row?.at;
  if (!at) return undefined;
  const ended: Attempt = {
    ...attempt,
    ...as,
    nextAction: "failover",
    nextBecause: because,
    answeredAt: attempt.answeredAt ?? at,
    completedAt: as.status === "UNKNOWN" ? null : at,
  };
  const { session } = loaded;
  const { brand = session.cardBrand, last4 = session.cardLast4 } = card ?? {};
  const attempts = loaded.attempts.map((one) => (one.id === attempt.id ? ended : one));
  return {
    ...loaded,
    session: { ...session, cardBrand: brand, cardLast4: last4 },
    attempts: [...attempts, opened(next, at, attempts.length + 1)],
    readAt: at,
  };
}
