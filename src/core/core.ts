/**
 * The dependencies of one environment's payment core: its database, its keys, and its source of time and randomness.
 */

import type { CardVault } from "../card-vault/card-vault.ts";
import type { OutboxContext } from "../events/outbox.ts";
import type { AuthenticationProvider } from "../gateways/authentication-provider.ts";
import type { Connector, Credentials } from "../gateways/connector.ts";
import { timingBounds } from "../limits.ts";
import type { Database } from "../platform/database.ts";
import type { Hold } from "../platform/hold.ts";
import type { AttemptId, AuthenticationId, ConnectionId, MerchantId, SessionId } from "../platform/ids.ts";
import type { Logger } from "../platform/log.ts";
import type { Runtime } from "../platform/runtime.ts";
import type { KeyRing } from "../platform/secrets.ts";
import type { Tracing } from "../platform/telemetry.ts";
import type { ClientSecretKeys } from "./client-secret.ts";
import type { CircuitBreaker } from "./execute/circuit-breaker.ts";
import type { GatewaySlots } from "./execute/gateway-slots.ts";
import type { PageTokenKeys } from "./page-token.ts";
import type { PaymentSession } from "./rows/entities.ts";
import type { Payment } from "./rows/payment.ts";

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
/** A JSON object that the core passes on without reading it. */
export type JsonObject = { [key: string]: Json };

/** The connector of a connection and one version of its credentials. An attempt is bound to both. */
export type BoundConnector = { readonly connector: Connector; readonly credentials: Credentials };

/** The attempt, or the provider's authentication, whose customer a bank returns. */
export type Returning = {
  readonly sessionId: SessionId;
  readonly id: AttemptId | AuthenticationId;
  readonly isProvided?: boolean | undefined;
};

/** Time limits of a payment. An operator may choose them within the bounds of limits.ts. */
export type Timing = {
  /** Timeout of one gateway's authorization. */
  readonly attemptTimeoutMs: number;
  /** Time from the submission on in which gateways are tried. */
  readonly submissionBudgetMs: number;
};

export const defaultTiming: Timing = {
  attemptTimeoutMs: timingBounds.attemptTimeoutMs.default,
  submissionBudgetMs: timingBounds.submissionBudgetMs.default,
};

/**
 * The metrics hooks of the payment core, which are called after the commit. They receive nothing about a merchant or a
 * customer, and none of them may throw.
 */
export type PaymentObserver = {
  /** Records a session's final status. */
  settled(status: Exclude<PaymentSession["status"], "CREATED">): void;
  /** Records that a payment fails over to another gateway after an attempt at this one. */
  failedOver(from: string): void;
  /** Records that a customer's action at this gateway was given up. */
  gaveUp(gateway: string, as: "CANCELLED" | "ABANDONED" | "FAILED"): void;
};

/** The fields of an open session that its submission needs, and the settings that allow its page. */
export type KnownCheckout = {
  readonly session: Pick<
    PaymentSession,
    | "id"
    | "merchantId"
    | "phase"
    | "amountMinor"
    | "currency"
    | "details"
    | "manualCapture"
    | "captureBy"
    | "stored"
    | "expiresAt"
  >;
  readonly checkoutOrigins: readonly string[];
  readonly publishableKey: string;
};

/** The core of one environment. It does not know which environment it is, and cannot reach the other one. */
export type Core = {
  readonly database: Database;
  /** Holds what a change may reach a second late: routes and merchants' names, never keys. */
  readonly hold: Hold;
  readonly runtime: Runtime;
  readonly log: Logger;
  /** Receives the spans of payments. */
  readonly tracing: Tracing;
  readonly clientSecretKeys: ClientSecretKeys;
  readonly sealing: KeyRing;
  readonly pageTokenKey: PageTokenKeys;
  /** The vault of either mode; the core makes no difference. Cards reach it through the connectors. */
  readonly vault: Omit<CardVault, "forward" | "close">;
  /** Returns the address to which a bank returns the customer of an attempt, or of a provider's authentication. */
  readonly returnUrlOf: (returning: Returning) => string;
  /** Returns the connector of a gateway, or undefined when this environment has none. */
  readonly connectorOf: (gateway: string) => Connector | undefined;
  /** Returns the connector and credentials of an attempt, or undefined when this environment lacks either. */
  readonly bind: (
    connectionId: ConnectionId,
    gateway: string,
    credentialVersion: number,
  ) => Promise<BoundConnector | undefined>;
  /** Returns the provider of authentication with this name, or undefined when this environment has none. */
  readonly providerOf: (name: string) => AuthenticationProvider | undefined;
  /** Returns the provider and credentials of an authentication, or undefined when this environment lacks either. */
  readonly bindProvider: (
    connectionId: ConnectionId,
    name: string,
    credentialVersion: number,
  ) => Promise<{ readonly connector: AuthenticationProvider; readonly credentials: Credentials } | undefined>;
  /** The health of connections, as this process has observed it. */
  readonly circuitBreaker: CircuitBreaker;
  /** The Idempotency-Keys under which this process is creating sessions, each with the end of its statement. */
  readonly creations: Map<string, Promise<void>>;
  /** Plain sessions that this process has created or shown, oldest first. Whether one can still be submitted so, its claim says. */
  readonly known: Map<SessionId, KnownCheckout>;
  /** Metrics hooks; optional. */
  readonly observer?: PaymentObserver | undefined;
  readonly outbox: OutboxContext;
  /** Describes a session as events and GET show it, without the customer's email. */
  readonly describeSession: (loaded: Payment) => object;
  readonly timing: Timing;
  /** Submissions in progress in this process. An orderly stop waits for them. */
  readonly inFlight: Set<Promise<unknown>>;
  /** Renewals in progress in this process, of which there are fewer than places for payments. Those that run are in `inFlight` too. */
  readonly renewals: Set<{ readonly merchantId: MerchantId; readonly isRunning?: boolean }>;
  /** The repeated captures and voids that wait for their gateways in this process. */
  readonly repeats: GatewaySlots;
  /** Resolves after `ms` milliseconds or when the signal fires. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
};
