/** Acts on gateways' notifications about refunds. */

import type { Core } from "../core/core.ts";
import { lockSession } from "../core/record/load-session.ts";
import { openWorkItem } from "../core/record/work-items.ts";
import { capturedOf, type Payment } from "../core/rows/payment.ts";
import type { ListedRefund } from "../gateways/connector.ts";
import type { Statement, Tx } from "../platform/database.ts";
import { type AttemptId, type ConnectionId, decodeId, type SessionId } from "../platform/ids.ts";
import { amountInWords } from "../platform/money.ts";
import { recordListed } from "./listed-refunds.ts";

/** A stored notification of kind `refunded` or `refund_failed`. */
export type RefundReport = {
  readonly connectionId: ConnectionId;
  readonly notificationId: string;
  readonly kind: string;
  readonly gatewayReference: string;
};

const selectReport: Statement = {
  name: "select_refund_report",
  text: `
    SELECT refund_reference AS "refundReference", modification_reference AS "modificationReference",
      amount_minor AS "amountMinor", currency
    FROM gateway_notification WHERE connection_id = $1 AND notification_id = $2`,
};
const selectSession: Statement = {
  name: "select_session_of_refund_report",
  text: `
    SELECT session_id AS "sessionId", id AS "attemptId" FROM attempt WHERE connection_id = $1 AND gateway_reference = $2`,
};

type ReportRow = {
  refundReference: string | null;
  modificationReference: string | null;
  amountMinor: number | null;
  currency: string | null;
};

/**
 * Records what a signed notification says about a refund: the end of one of ours, or one that was made by hand at the
 * gateway. One without its own reference, amount or currency, or about no payment of ours, proves nothing and changes
 * nothing. `later`: the payment has not ended, so it is not known yet whether it was captured.
 */
export async function recordRefundReport(core: Core, report: RefundReport): Promise<"later" | undefined> {
  const { connectionId, notificationId, gatewayReference } = report;
  const [row] = await core.database.query<ReportRow>(selectReport, [connectionId, notificationId]);
  if (!row?.modificationReference || row.amountMinor === null || row.currency === null) return;
  const id = row.refundReference === null ? undefined : decodeId("ref", row.refundReference);
  type Found = { sessionId: SessionId; attemptId: AttemptId };
  const [found] = await core.database.query<Found>(selectSession, [connectionId, gatewayReference]);
  if (found === undefined) return;
  const listed = {
    amountMinor: Number(row.amountMinor),
    currency: row.currency,
    gatewayReference: row.modificationReference,
    refundReference: id === undefined ? undefined : (row.refundReference ?? undefined),
    status: report.kind === "refund_failed" ? ("failed" as const) : ("succeeded" as const),
  };
  return core.database.transaction(async (tx) => {
    const loaded = await lockSession(tx, found.sessionId);
    return loaded && record(tx, core, { loaded, attemptId: found.attemptId, listed });
  });
}

async function record(
  tx: Tx,
  core: Core,
  given: { loaded: Payment; attemptId: AttemptId; listed: ListedRefund },
): Promise<"later" | undefined> {
  const { loaded, attemptId, listed } = given;
  const captured = capturedOf(loaded);
  if (captured?.id !== attemptId) return recordUncaptured(tx, core, given);
  await recordListed(tx, core, { loaded, captured, traits: { canRead: false }, listed: [listed] });
  return undefined;
}

/** Alarms a person about a refund of a payment that is not captured here, once that is certain. */
async function recordUncaptured(
  tx: Tx,
  core: Core,
  { loaded, attemptId, listed }: { loaded: Payment; attemptId: AttemptId; listed: ListedRefund },
): Promise<"later" | undefined> {
  const { session } = loaded;
  // Its capture is not recorded yet: it was sent, made by hand, or lost with a restore.
  if (session.status === "CREATED") return "later";
  if (listed.status === "failed") return undefined;
  const { gatewayReference, amountMinor, currency } = listed;
  const detail = `The gateway reports the refund ${gatewayReference.slice(0, 100)} of ${amountInWords(amountMinor, currency)}, and this attempt is not the captured one.`;
  await openWorkItem(tx, core, { kind: "RECORD_MISMATCH", sessionId: session.id, attemptId, detail });
  return undefined;
}
