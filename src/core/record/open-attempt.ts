/** Opens an attempt: its id, its request, and how long its gateway may still execute it. */

import { timingBounds } from "../../limits.ts";
import type { Statement, Tx } from "../../platform/database.ts";
import type { AttemptId, AuthenticationId, ConnectionId, SessionId } from "../../platform/ids.ts";
import { sha256 } from "../../platform/secrets.ts";
import { proofFor } from "../authentication/after-provider.ts";
import type { Core } from "../core.ts";
import { because } from "../decide/because.ts";
import type { Attempt, PaymentSession, PlannedConnection } from "../rows/entities.ts";
import { exemptionOf, type Payment, type Planned } from "../rows/payment.ts";
import type { Opening } from "./payment-functions.ts";

/**
 * Returns the id of a session's attempt at a connection: its name in our tables, and its reference and key at the
 * gateway. The same values always have the same UUIDv7, and a session has at most one attempt of each round at a
 * connection, so the attempt can still be looked up by its id when its row is lost. The timestamp is the session's, so
 * that a session's attempts are stored together.
 */
export function attemptIdOf(named: { sessionId: SessionId; connectionId: ConnectionId; round?: number }): AttemptId {
  const { sessionId, connectionId, round = 0 } = named;
  return deriveId(sessionId, `at ${connectionId}${round === 0 ? "" : ` round ${round}`}`);
}

/** Returns a UUIDv7 with the session's timestamp; the same values always have the same one. */
export function deriveId(sessionId: SessionId, name: string): string {
  const hash = sha256(`${sessionId} ${name}`).toString("hex");
  // RFC 9562, 5.7: 48 bits of time, version 7, 12 bits, variant 10, 62 bits.
  const variant = ((Number.parseInt(hash.slice(3, 4), 16) & 3) | 8).toString(16);
  const groups = [`7${hash.slice(0, 3)}`, `${variant}${hash.slice(4, 7)}`, hash.slice(7, 19)];
  return `${sessionId.slice(0, 13)}-${groups.join("-")}`;
}

/** Returns the id from which the ids of a session's attempts derive: its own, or that of a renewal's try, which outlives a restore. */
export function namesOf({ id, namedBy }: Named): SessionId {
  return namedBy ?? id;
}

type Named = Pick<PaymentSession, "id"> & Partial<Pick<PaymentSession, "namedBy">>;

/** The session in which an attempt is opened, and its authentications. */
type Opened = {
  readonly session: Named & Pick<PaymentSession, "amountMinor" | "currency"> & Planned;
  readonly authentications: Payment["authentications"];
};

type NextAttempt = { readonly to: PlannedConnection; readonly because: string; readonly round?: 0 | 1 | 2 };

/** Returns the next attempt of a plan, with the customer's proof if there is one that it takes. */
export function nextOpening(core: Core, { session, authentications }: Opened, next: NextAttempt): Opening {
  const { to, round = 0 } = next;
  const id = attemptIdOf({ sessionId: namesOf(session), connectionId: to.connectionId, round });
  const { authenticationId, and } =
    authentications.length > 0 ? proofFor(session, authentications, to) : { authenticationId: undefined, and: "" };
  const exemption = exemptionOf(session, { connectionId: to.connectionId, round, authenticationId });
  return openingOf({
    id,
    session,
    to,
    round,
    because: next.because + and + (exemption ? because.andAsksFor(exemption) : ""),
    authenticationId,
    latestExecutionMs: latestExecutionMsAt(core, to),
  });
}

/** Returns the input of the statement that opens an attempt. */
export function openingOf(attempt: {
  readonly id: AttemptId;
  readonly session: Pick<PaymentSession, "id" | "amountMinor" | "currency">;
  readonly to: PlannedConnection;
  readonly because: string;
  /** 1: the one repeat at the same connection, with authentication. 2: the one retry, as the gateway allowed. */
  readonly round?: number;
  /** The provider's authentication whose proof the gateway gets. */
  readonly authenticationId?: AuthenticationId | undefined;
  readonly latestExecutionMs: number;
}): Opening {
  const { id, session, to, because, round = 0, authenticationId = null, latestExecutionMs } = attempt;
  const { gateway, connectionId, credentialVersion, priority } = to;
  const { amountMinor, currency } = session; // rule:amount-pinned
  return {
    sessionId: session.id,
    id,
    gateway,
    connectionId,
    credentialVersion,
    priority,
    because,
    amountMinor,
    currency,
    round,
    authenticationId,
    latestExecutionMs,
  };
}

/**
 * Returns how long after its start a gateway may still execute an attempt, in milliseconds; 0 where it permanently
 * refuses a voided reference, so that a void prevents that. The limit is twice the timeout, or twice the default timeout
 * if that is longer, and the time for which the vault and the gateway may still work on a request that left us. If the
 * connector was removed after planning, nothing is sent.
 */
export function latestExecutionMsAt(core: Core, { gateway }: Pick<Attempt, "gateway">): number {
  const { refusesVoidedReference = false, executionLimitMs = 0 } = core.connectorOf(gateway) ?? {};
  const sendingMs = 2 * Math.max(core.timing.attemptTimeoutMs, timingBounds.attemptTimeoutMs.default);
  return refusesVoidedReference ? 0 : sendingMs + executionLimitMs + core.vault.forwarding.lateMs;
}

const insertAttempt: Statement = {
  name: "insert_attempt",
  partitionKey: 1,
  text: "SELECT FROM app.open_attempt($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
};

/** Opens an attempt. It is committed before any byte goes to the gateway, so a crash is always visible. */
export function openAttempt(tx: Tx, attempt: Opening): void {
  tx.send(insertAttempt, [
    attempt.sessionId,
    attempt.id,
    attempt.gateway,
    attempt.connectionId,
    attempt.credentialVersion,
    attempt.priority,
    attempt.because,
    attempt.amountMinor,
    attempt.currency,
    attempt.latestExecutionMs,
    attempt.round,
    attempt.authenticationId,
  ]);
}

/** Opens an attempt at the next connection. Returns its id. */
export function openNext(tx: Tx, core: Core, opened: Opened, next: NextAttempt): AttemptId {
  const attempt = nextOpening(core, opened, next);
  openAttempt(tx, attempt);
  return attempt.id;
}
