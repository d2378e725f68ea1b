/** Acts on gateways' notifications about disputes. */

import type { Core } from "../core/core.ts";
import { lockSession } from "../core/record/load-session.ts";
import { openWorkItem } from "../core/record/work-items.ts";
import { capturedOf, type Payment } from "../core/rows/payment.ts";
import type { DisputeNotice } from "../gateways/dispute-notice.ts";
import type { Statement, Tx } from "../platform/database.ts";
import { type AttemptId, type ConnectionId, decodeId, encodeId, type SessionId } from "../platform/ids.ts";
import { recordNotice } from "./dispute-rows.ts";

/** A stored notification of kind `dispute`. */
export type DisputeReport = DisputedPayment & { readonly notificationId: string };

/** A payment as a gateway names it; each name may be empty. */
type DisputedPayment = {
  readonly connectionId: ConnectionId;
  readonly attemptReference: string;
  readonly gatewayReference: string;
};

const selectReport: Statement = {
  name: "select_dispute_report",
  text: `
    SELECT modification_reference AS "modificationReference", amount_minor AS "amountMinor", currency, dispute,
      received_at AS "receivedAt", received_at < app.clock() - $3 * interval '1 ms' AS "isOld"
    FROM gateway_notification WHERE connection_id = $1 AND notification_id = $2`,
};
const selectByReference: Statement = {
  name: "select_session_of_dispute",
  text: `SELECT session_id AS "sessionId", attempt_id AS "attemptId" FROM dispute WHERE connection_id = $1 AND gateway_reference = $2 LIMIT 1`,
};
const selectByPayment: Statement = {
  name: "select_session_of_disputed_payment",
  text: `SELECT session_id AS "sessionId", id AS "attemptId" FROM attempt WHERE connection_id = $1 AND gateway_reference = $2`,
};
const selectByAttempt: Statement = {
  name: "select_session_of_disputed_attempt",
  text: `SELECT session_id AS "sessionId", id AS "attemptId", gateway_reference AS "paidAs" FROM attempt WHERE id = $2 AND connection_id = $1`,
};

type ReportRow = {
  modificationReference: string | null;
  amountMinor: number | null;
  currency: string | null;
  dispute: DisputeNotice | null;
  receivedAt: Date;
  isOld: boolean;
};
export type Found = { readonly sessionId: SessionId; readonly attemptId: AttemptId; readonly isForeign?: boolean };

// The time for which a notice waits for the one that opens its dispute, which gateways repeat for days, or for a
// restore of its payment.
const waitMs = 3 * 24 * 60 * 60_000;

/**
 * Records what a signed notification says about a dispute. One without a reference, or about no payment of ours, changes nothing.
 * `later`: the payment has not ended, or the dispute is not known yet.
 */
export async function recordDisputeReport(core: Core, report: DisputeReport): Promise<"later" | undefined> {
  const { connectionId, notificationId } = report;
  const [row] = await core.database.query<ReportRow>(selectReport, [connectionId, notificationId, waitMs]);
  if (!row?.dispute || !row.modificationReference) return undefined;
  const { modificationReference: gatewayReference, dispute, amountMinor, currency, receivedAt } = row;
  const drop = (why: string) => {
    const reason = `${encodeId("gc", connectionId)}: ${why}`;
    core.log.warn({ kind: dispute.event, reason }, "a notice about a dispute is dropped");
    return undefined;
  };
  const wait = () => (row.isOld ? drop("for three days its payment or its dispute was not known") : "later");
  const found = await findPayment(core, report, gatewayReference);
  if (found === "unknown") return wait();
  if (found === undefined) return drop("its payment was not made here");
  const isValid = amountMinor !== null && currency !== null && amountMinor > 0;
  const notice = {
    ...dispute,
    ...(isValid && { amountMinor, currency }),
    id: notificationId,
    at: receivedAt.toISOString(),
  };
  return core.database.transaction(async (tx) => {
    const loaded = await lockSession(tx, found.sessionId);
    if (loaded === undefined) return undefined;
    const captured = capturedOf(loaded);
    if (captured?.id !== found.attemptId || found.isForeign)
      return recordUncaptured(tx, core, { loaded, found, gatewayReference });
    const result = await recordNotice(tx, core, { loaded, captured, gatewayReference, notice });
    return result === "unknown" ? wait() : undefined;
  });
}

/** Returns the payment that a notice is about; `unknown` if it names none, or one of ours that has no row. `isForeign`: it names ours and another one. */
export async function findPayment(
  core: Core,
  { connectionId, gatewayReference, attemptReference }: DisputedPayment,
  disputeReference: string,
): Promise<Found | "unknown" | undefined> {
  const find = async (statement: Statement, value: string) =>
    (await core.database.query<Found & { paidAs?: string | null }>(statement, [connectionId, value]))[0];
  const known = await find(selectByReference, disputeReference);
  if (known) return known;
  const attemptId = decodeId("att", attemptReference);
  const paid = gatewayReference === "" ? undefined : await find(selectByPayment, gatewayReference);
  if (paid) return paid;
  if (attemptId === undefined) return gatewayReference === "" ? "unknown" : undefined;
  const named = await find(selectByAttempt, attemptId);
  if (named === undefined) return "unknown";
  const { paidAs, ...attempt } = named;
  return { ...attempt, isForeign: gatewayReference !== "" && paidAs != null && paidAs !== gatewayReference };
}

/** Alarms a person about a dispute of a payment that is not captured here, once that is certain. */
export async function recordUncaptured(
  tx: Tx,
  core: Core,
  { loaded, found, gatewayReference }: { loaded: Payment; found: Found; gatewayReference: string },
): Promise<"later" | undefined> {
  // Its capture is not recorded yet: it was sent, made by hand, or lost with a restore.
  if (loaded.session.status === "CREATED") return "later";
  const { sessionId, attemptId, isForeign } = found;
  const why = isForeign ? "it is of another payment than this attempt made" : "this attempt is not the captured one";
  const detail = `The gateway reports the dispute ${gatewayReference.slice(0, 100)}, and ${why}.`;
  await openWorkItem(tx, core, { kind: "RECORD_MISMATCH", sessionId, attemptId, rule: gatewayReference, detail });
  return undefined;
}
