/** Takes a merchant's refund: one row for each Idempotency-Key, committed before a byte leaves for the gateway. */

import { requirePayable } from "../core/capture-later.ts";
import type { Core } from "../core/core.ts";
import { loadSession } from "../core/record/load-session.ts";
import type { Refund } from "../core/rows/entities.ts";
import { capturedOf, type Payment, refundableMinor } from "../core/rows/payment.ts";
import type { RefundReason } from "../gateways/connector.ts";
import { leaseMs } from "../limits.ts";
import type { Queryable, Statement, Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import type { MerchantId, RefundId, SessionId } from "../platform/ids.ts";
import { sha256 } from "../platform/secrets.ts";
import { type KeyCap, lockCap, requireWithinCap } from "./daily-limit.ts";
import { runStep } from "./refund-once.ts";
import { insertRefund, refundIdOf } from "./refund-rows.ts";

/** A merchant's request. Without an amount it is for everything that is left. */
export type RefundRequest = {
  readonly merchantId: MerchantId;
  readonly sessionId: SessionId;
  /** The Idempotency-Key: the same one names the same refund for ever. */
  readonly key: string;
  readonly amountMinor?: number | undefined;
  readonly reason?: RefundReason | undefined;
  readonly refundRef?: string | undefined;
  /** The member, the restricted key or the service that makes it, as the audit trail names them; absent for a secret key. */
  readonly madeBy?: string | undefined;
  /** The daily limit of the key that makes it. */
  readonly cap?: KeyCap | undefined;
};

// All of them are in every answer and event about the payment: 100 take about 40 KB.
const refundsMax = 100;

type Connectors = Pick<Core, "connectorOf">;

/** A refund with its session. `replayed`: the key had made it before. */
export type RequestedRefund = {
  readonly loaded: Payment;
  readonly refund: Refund;
  readonly replayed: boolean;
};

/**
 * Records a refund and sends it to the gateway that captured. Durable on return. It waits for the gateway's first answer,
 * at most 20 s. A repeat with the same key returns the refund as it stands. Throws `not_found`, `not_refundable`,
 * `payment_disputed`, `amount_exceeds_refundable`, `invalid_field` for an amount that the gateway cannot express,
 * `refund_cap_exceeded`, and
 * `idempotency_key_reused` for a key that was used with other fields.
 */
export async function requestRefund(core: Core, request: RefundRequest): Promise<RequestedRefund> {
  const id = refundIdOf(request.sessionId, request.key);
  const { cap } = request;
  const replayed = await core.database.transaction(async (tx) => {
    // The cap's lock comes before the session's: each refund under the cap counts those before it.
    if (cap) await lockCap(tx, cap.keyId);
    const isKnown = await recordRequest(tx, core, request, id, { isTaken: true });
    if (cap && !isKnown) await requireWithinCap(tx, cap, { sessionId: request.sessionId, id });
    return isKnown;
  });
  if (!replayed) {
    const processing = runStep(core, { sessionId: request.sessionId, id });
    core.inFlight.add(processing);
    await processing.finally(() => core.inFlight.delete(processing));
  }
  return { ...(await loadRefund(core.database, { sessionId: request.sessionId, id })), replayed };
}

const lockOwned: Statement = {
  name: "lock_session_to_refund",
  partitionKey: 1,
  text: "SELECT id FROM app.lock_session_of($1, $2)",
};
const selectHash: Statement = {
  name: "select_refund_hash",
  partitionKey: 1,
  text: `SELECT request_hash AS "requestHash" FROM refund WHERE session_id = $1 AND id = $2`,
};

/**
 * Records a refund for a worker to send, or for the caller where it has taken it up: then no worker sends it before the
 * caller's lease is over. Returns true if its key has recorded it before. Throws as `requestRefund` does.
 */
export async function recordRequest(
  tx: Tx,
  core: Connectors,
  request: RefundRequest,
  id: RefundId,
  { isTaken = false }: { isTaken?: boolean } = {},
): Promise<boolean> {
  const { sessionId, merchantId } = request;
  const owned = await tx.query(lockOwned, [sessionId, merchantId]);
  if (owned.length === 0) throw new DomainError("not_found", "There is no payment session with this id.");
  const requestHash = fingerprintOf(request);
  const [known] = await tx.query<{ requestHash: Buffer | null }>(selectHash, [sessionId, id]);
  if (known !== undefined) {
    // A restore has lost the fields of one that was found at the gateway.
    if (known.requestHash === null || known.requestHash.equals(requestHash)) return true;
    const message = "This Idempotency-Key was used for a refund with other fields; use a new key for another refund.";
    throw new DomainError("idempotency_key_reused", message);
  }
  const loaded = await loadSession(tx, sessionId);
  const captured = requireRefundable(core, loaded);
  const amountMinor = amountOf(loaded, request.amountMinor);
  requirePayable(core, captured, { amountMinor, to: "refund" });
  const { connectionId, gateway } = captured;
  const { reason, refundRef, madeBy } = request;
  const { currency } = loaded.session;
  insertRefund(tx, {
    sessionId,
    id,
    attemptId: captured.id,
    connectionId,
    gateway,
    amountMinor,
    currency,
    reason: reason ?? null,
    refundRef: refundRef ?? null,
    madeBy: madeBy ?? null,
    requestHash,
    isTaken,
    dueInMs: isTaken ? leaseMs : 0,
  });
  return false;
}

function fingerprintOf({ amountMinor, reason, refundRef }: RefundRequest): Buffer {
  return sha256(JSON.stringify([amountMinor ?? null, reason ?? null, refundRef ?? null]));
}

function requireRefundable(core: Connectors, loaded: Payment) {
  const captured = capturedOf(loaded);
  const problem = problemOf(core, loaded);
  if (captured === undefined || problem !== undefined) throw new DomainError("not_refundable", problem ?? "");
  return captured;
}

function problemOf(core: Connectors, loaded: Payment): string | undefined {
  const captured = capturedOf(loaded);
  if (captured === undefined) return "Only a payment that has succeeded can be refunded.";
  if (captured.captureFailedAt) return "The gateway reported that the capture failed, so there is nothing to refund.";
  if (loaded.session.refunds >= refundsMax) return `A payment has at most ${refundsMax} refunds, failed ones included.`;
  if (core.connectorOf(captured.gateway)?.refunds === undefined)
    return "This installation cannot refund at the gateway that captured the payment.";
  return undefined;
}

/** Returns the reason that nothing of a payment can be refunded now; undefined if something can. */
export function whyNotRefundable(core: Connectors, loaded: Payment): string | undefined {
  const problem = problemOf(core, loaded);
  if (problem !== undefined || refundableMinor(loaded) > 0) return problem;
  return refundableBut(loaded) > 0 ? heldByDispute : nothingLeft;
}

const nothingLeft = "Nothing is left to refund: the refunds of this payment add up to what was captured.";

const heldByDispute = "A dispute holds the money: the cardholder's bank has taken it back, or may do so.";

/** Returns what could be refunded without the disputes. */
function refundableBut(loaded: Payment): number {
  return refundableMinor({ ...loaded, disputes: undefined });
}

function amountOf(loaded: Payment, wanted: number | undefined): number {
  const left = refundableMinor(loaded);
  const amountMinor = wanted ?? left;
  if (amountMinor >= 1 && amountMinor <= left) return amountMinor; // rule:refund-sum
  const free = loaded.disputes === undefined ? 0 : refundableBut(loaded);
  if (free > left && (wanted ?? free) >= 1 && (wanted ?? free) <= free)
    throw new DomainError("payment_disputed", heldByDispute);
  const message = left === 0 ? nothingLeft : "The amount is more than amountRefundableMinor of the session.";
  throw new DomainError("amount_exceeds_refundable", message, { field: "amountMinor" });
}

/** Loads a refund with its session. Both must exist. */
async function loadRefund(
  queryable: Queryable,
  { sessionId, id }: { sessionId: SessionId; id: RefundId },
): Promise<{ loaded: Payment; refund: Refund }> {
  const loaded = await loadSession(queryable, sessionId);
  const refund = loaded.refunds.find((one) => one.id === id);
  if (refund === undefined) throw new Error("the refund no longer exists");
  return { loaded, refund };
}
