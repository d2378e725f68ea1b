/** Acts on gateways' notifications about refunds. */
import type { Core } from "../core/core.ts";
import type { SessionWithAttempts } from "../core/session-with-attempts.ts";
import type { Statement, Tx } from "../platform/database.ts";
import { decodeId } from "../platform/ids.ts";
import { findListed, recordListed } from "./listed-refunds.ts";
import { capturedOf } from "./next-refund-step.ts";
import { lockSession } from "./refund-rows.ts";

/** A stored notification of kind `refunded` or `refund_failed`. */
export type RefundReport = {
  readonly connectionId: string;
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
    SELECT session_id AS "sessionId" FROM refund WHERE id = $1 AND connection_id = $2
    UNION SELECT session_id FROM attempt WHERE connection_id = $2 AND gateway_reference = $3 LIMIT 1`,
};

type ReportRow = {
  refundReference: string | null;
  modificationReference: string | null;
  amountMinor: number | null;
  currency: string | null;
};

/**
 * Records what a signed notification says about a refund: the end of one of ours, or one that was made by hand at the
 * gateway. One without its own reference, amount or currency proves nothing and changes nothing.
 */
export async function recordRefundReport(core: Core, report: RefundReport): Promise<void> {
  const { connectionId, notificationId, gatewayReference } = report;
  const [row] = await core.database.query<ReportRow>(selectReport, [connectionId, notificationId]);
  if (!row?.modificationReference || row.amountMinor === null || row.currency === null) return;
  const id = row.refundReference === null ? undefined : decodeId("ref", row.refundReference);
  const values = [id ?? null, connectionId, gatewayReference];
  const [found] = await core.database.query<{ sessionId: string }>(selectSession, values);
  if (found === undefined) return;
  const listed = {
    amountMinor: Number(row.amountMinor),
    currency: row.currency,
    gatewayReference: row.modificationReference,
    refundReference: id === undefined ? undefined : (row.refundReference ?? undefined),
    status: report.kind === "refund_failed" ? ("failed" as const) : ("succeeded" as const),
  };
  await core.database.transaction(async (tx) => {
    const loaded = await lockSession(tx, found.sessionId);
    if (loaded) await record(tx, core, { loaded, connectionId, listed });
  });
}

async function record(
  tx: Tx,
  core: Core,
  given: {
    loaded: SessionWithAttempts;
    connectionId: string;
    listed: Parameters<typeof recordListed>[2]["listed"][number];
  },
): Promise<void> {
  const { loaded, connectionId, listed } = given;
  const captured = capturedOf(loaded);
  if (captured === undefined || captured.connectionId !== connectionId) return;
  // A refund that failed and was never known here took no money.
  if (listed.status === "failed" && findListed(loaded.refunds, listed) === undefined) return;
  const traits = { needsConfirmedCapture: false, canList: false, canRead: false };
  await recordListed(tx, core, { loaded, captured, traits, listed: [listed] });
}
