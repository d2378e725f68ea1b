/** Acts on gateways' notifications about disputes. */

import type { Core } from "../core/core.ts";
import { lockSession } from "../core/record/load-session.ts";
import { openWorkItem } from "../core/record/work-items.ts";
import { capturedOf, type Payment } from "../core/rows/payment.ts";
import type { DisputeNotice } from "../gateways/connector.ts";
import type { Statement, Tx } from "../platform/database.ts";
import { type AttemptId, type ConnectionId, decodeId, type SessionId } from "../platform/ids.ts";
import { recordNotice } from "./dispute-rows.ts";

/** A stored notification of kind `dispute`. */
export type DisputeReport = {
  readonly connectionId: ConnectionId;
  readonly notificationId: string;
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
  text: `SELECT session_id AS "sessionId", id AS "attemptId" FROM attempt WHERE id = $2 AND connection_id = $1`,
};

type ReportRow = {
  modificationReference: string | null;
  amountMinor: number | null;
  currency: string | null;
  dispute: DisputeNotice | null;
  receivedAt: Date;
  isOld: boolean;
};
type Found = { readonly sessionId: SessionId; readonly attemptId: AttemptId };

// Time for which a notice that names no payment waits for the one that opens its dispute: gateways repeat those for days.
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
  const unknown = row.isOld ? undefined : "later";
  const found = await findPayment(core, report, gatewayReference);
  if (found === "unnamed") return unknown;
  if (found === undefined) return undefined;
  const isValid = amountMinor !== null && currency !== null && amountMinor > 0;
  const notice = { ...dispute, ...(isValid && { amountMinor, currency }), id: notificationId, at: receivedAt.toISOString() };
  return core.database.transaction(async (tx) => {
    const loaded = await lockSession(tx, found.sessionId);
    if (loaded === undefined) return undefined;
    const captured = capturedOf(loaded);
    if (captured?.id !== found.attemptId) return recordUncaptured(tx, core, { loaded, found, gatewayReference });
    const result = await recordNotice(tx, core, { loaded, captured, gatewayReference, notice });
    return result === "unknown" ? unknown : undefined;
  });
}

/** Returns the payment that a notice is about; `unnamed` if it names none and its dispute is not known. */
async function findPayment(
  core: Core,
  { connectionId, gatewayReference, attemptReference }: DisputeReport,
  disputeReference: string,
): Promise<Found | "unnamed" | undefined> {
  const find = async (statement: Statement, value: string) =>
    (await core.database.query<Found>(statement, [connectionId, value]))[0];
  const known = await find(selectByReference, disputeReference);
  if (known) return known;
  const attemptId = decodeId("att", attemptReference);
  if (gatewayReference === "" && attemptId === undefined) return "unnamed";
  const paid = gatewayReference === "" ? undefined : await find(selectByPayment, gatewayReference);
  return paid ?? (attemptId === undefined ? undefined : find(selectByAttempt, attemptId));
}

/** Alarms a person about a dispute of a payment that is not captured here, once that is certain. */
async function recordUncaptured(
  tx: Tx,
  core: Core,
  { loaded, found, gatewayReference }: { loaded: Payment; found: Found; gatewayReference: string },
): Promise<"later" | undefined> {
  // Its capture is not recorded yet: it was sent, made by hand, or lost with a restore.
  if (loaded.session.status === "CREATED") return "later";
  const detail = `The gateway reports the dispute ${gatewayReference.slice(0, 100)}, and this attempt is not the captured one.`;
  await openWorkItem(tx, core, { kind: "RECORD_MISMATCH", ...found, detail });
  return undefined;
}
