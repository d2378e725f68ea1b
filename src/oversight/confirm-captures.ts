/** Reads captures that a gateway had only accepted: each is confirmed, or reported as failed. */

import type { Core } from "../core/core.ts";
import { CircuitBreaker } from "../core/execute/circuit-breaker.ts";
import { capturedAtGateway } from "../core/execute/gateway-calls.ts";
import { recordReadCapture } from "../core/execute/late-captures.ts";
import { type CaptureState, gateways } from "../gateways/connector.ts";
import { followUpTimeoutMs, reconciliationConcurrency } from "../limits.ts";
import type { Statement } from "../platform/database.ts";
import type { AttemptId, ConnectionId, SessionId } from "../platform/ids.ts";

// An accepted capture that no gateway ends within a month is a matter for a person alone: its alarm is open since the third day.
const readForMs = 30 * 24 * 60 * 60_000;
const batch = 100;

// Read with the newest credentials of the account: those of the attempt may be dropped by now.
const selectUnconfirmed: Statement = {
  name: "select_captures_to_confirm",
  text: `
    SELECT a.session_id AS "sessionId", a.id, a.connection_id AS "connectionId", a.gateway, c.credential_version AS "credentialVersion",
      a.gateway_reference AS "gatewayReference", a.amount_minor AS "amountMinor", a.currency,
      a.captured_amount_minor AS "capturedAmountMinor", a.capture_reference AS "captureReference", s.settled_at::text AS "settledAt"
    FROM payment_session s
    JOIN attempt a ON a.session_id = s.id AND a.id = s.captured_attempt_id
    JOIN connection c ON c.id = a.connection_id
    WHERE NOT s.capture_confirmed AND s.settled_at > (SELECT app.clock()) - $1 * interval '1 ms' AND s.captured_via = ANY ($2)
      AND a.capture_failed_at IS NULL AND c.credential_version IS NOT NULL
      AND (s.settled_at, s.id) > ($3::timestamptz, $4::uuid)
    ORDER BY s.settled_at, s.id LIMIT $5`,
};

type Unconfirmed = {
  readonly sessionId: SessionId;
  readonly id: AttemptId;
  readonly connectionId: ConnectionId;
  readonly gateway: string;
  readonly credentialVersion: number;
  readonly gatewayReference: string | null;
  readonly amountMinor: number;
  readonly currency: string;
  readonly capturedAmountMinor: number | null;
  readonly captureReference: string | null;
  /** The time in the database's own precision. */
  readonly settledAt: string;
};

/**
 * Reads every accepted capture of the last month at the gateways that have a look-up, oldest first, until `closing`. A
 * capture that cannot be read, or is still under review, is read again with the next call; so are those of a connection
 * that `readings` knows not to answer.
 */
export async function confirmCaptures(
  core: Core,
  closing?: AbortSignal,
  readings = new CircuitBreaker(),
): Promise<void> {
  const readable = gateways.filter((gateway) => core.connectorOf(gateway)?.readCapture !== undefined);
  let after = ["-infinity", "00000000-0000-0000-0000-000000000000"];
  for (;;) {
    const found = await core.database.query<Unconfirmed>(selectUnconfirmed, [readForMs, readable, ...after, batch]);
    for (let start = 0; start < found.length; start += reconciliationConcurrency) {
      if (closing?.aborted) return;
      const some = found.slice(start, start + reconciliationConcurrency);
      await Promise.all(some.map((one) => confirmOrSkip(core, one, readings)));
    }
    const last = found.at(-1);
    if (last === undefined || found.length < batch) return;
    after = [last.settledAt, last.sessionId];
  }
}

/** Reads one capture. One that fails does not block the others. */
async function confirmOrSkip(core: Core, one: Unconfirmed, readings: CircuitBreaker): Promise<void> {
  if (readings.isFailing(one.connectionId, core.runtime.now())) return;
  try {
    const state = await readState(core, one);
    if (state === undefined) return;
    // Captures of another account, made before the credentials were replaced, are answered and never found.
    const isSilent = state.type === "unknown" && !state.isAnswered;
    readings.record(one.connectionId, isSilent ? "failed" : "answered", core.runtime.now());
    if (state.type === "captured" || state.type === "failed") await recordReadCapture(core, one, state.type);
  } catch (err) {
    core.log.error({ err, attemptId: one.id }, "an accepted capture could not be read");
  }
}

/** Returns the gateway's state of a capture; undefined if the gateway cannot be called. */
async function readState(core: Core, one: Unconfirmed): Promise<CaptureState | undefined> {
  const bound = await core.bind(one.connectionId, one.gateway, one.credentialVersion);
  if (bound?.connector.readCapture === undefined) return undefined;
  const call = { credentials: bound.credentials, timeoutMs: followUpTimeoutMs };
  return bound.connector.readCapture(call, capturedAtGateway(one));
}
