/** What the payment core of one environment is given: its database, its keys, and where time and randomness come from. */
import type { OutboxContext } from "../events/outbox.ts";
import type { CardVault } from "../gateways/card-vault.ts";
import type { Connector, Credentials } from "../gateways/connector.ts";
import { timingBounds } from "../limits.ts";
import type { Database } from "../platform/database.ts";
import type { Entropy } from "../platform/entropy.ts";
import type { Logger } from "../platform/log.ts";
import type { KeyRing } from "../platform/secrets.ts";
import type { Tracing } from "../platform/telemetry.ts";
import type { CircuitBreaker } from "./circuit-breaker.ts";
import type { ClientSecretKeys } from "./client-secret.ts";
import type { CreationsInProgress } from "./creations-in-progress.ts";
import type { PageTokenKeys } from "./page-token.ts";
import type { PaymentWatch } from "./payment-watch.ts";
import type { SessionWithTrail } from "./session-trail.ts";

/** JSON as the vault object holds it. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
/** A JSON object that the core hands on without looking into it. */
export type JsonObject = { [key: string]: Json };

/** A connection's connector and the credentials of one version: what an attempt is bound to. */
export type BoundConnector = { readonly connector: Connector; readonly credentials: Credentials };

/** How long a payment may take; an operator may choose within the bounds of limits.ts. */
export type Timing = {
  /** What one gateway may take to authorize. */
  readonly attemptTimeoutMs: number;
  /** From the submission on, how long gateways are asked. */
  readonly submissionBudgetMs: number;
};

/** What holds where an operator has set nothing. */
export const usualTiming: Timing = {
  attemptTimeoutMs: timingBounds.attemptTimeoutMs.usual,
  submissionBudgetMs: timingBounds.submissionBudgetMs.usual,
};

/** One environment's core. Nothing in it tells which environment it is: the other side is not reachable from here. */
export type Core = {
  readonly database: Database;
  readonly entropy: Entropy;
  readonly log: Logger;
  /** Where the spans of payments go. */
  readonly tracing: Tracing;
  readonly clientSecretKeys: ClientSecretKeys;
  readonly sealing: KeyRing;
  readonly pageTokenKey: PageTokenKeys;
  /** Of either mode, which makes no difference here. Cards reach it by way of the connectors. */
  readonly vault: Omit<CardVault, "forward" | "close">;
  /** The connector of a gateway, or undefined when this environment has none. */
  readonly connectorOf: (gateway: string) => Connector | undefined;
  /** What an attempt is bound to, or undefined when this environment lacks the connector or the credentials. */
  readonly bind: (
    connectionId: string,
    gateway: string,
    credentialVersion: number,
  ) => Promise<BoundConnector | undefined>;
  /** What this process has seen of its connections' health. */
  readonly circuitBreaker: CircuitBreaker;
  /** The Idempotency-Keys that this process is creating sessions for. */
  readonly creations: CreationsInProgress;
  /** Told of what is counted; without it nobody counts. */
  readonly watch?: PaymentWatch | undefined;
  readonly outbox: OutboxContext;
  /** A session as events and GET show it, without the customer's email. */
  readonly describeSession: (trail: SessionWithTrail) => object;
  readonly timing: Timing;
  /** Submissions that this process works on; an orderly stop waits for them. */
  readonly inFlight: Set<Promise<unknown>>;
  /** Resolves after so many milliseconds, or when the signal fires. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
};
