/** The ledger of a past day as CSV: proto ↔ reporting. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { ExportLedgerResponseSchema, type LedgerService } from "../../gen/dashboard/v1/ledger_pb.ts";
import { encodeId } from "../platform/ids.ts";
import { decimalOf, isoExponent } from "../platform/money.ts";
import { type LedgerEntry, readLedger } from "../reporting/ledger.ts";
import { shownOrderRef } from "../reporting/shown-order-ref.ts";
import { csvLine } from "./csv.ts";
import { scopedContextOf } from "./rpc-context.ts";

// Rows of one call of an export: a quarter of a megabyte.
const exportRows = 1_000;

/** The rpc that exports the ledger of a day. */
export const ledgerService: ServiceImpl<typeof LedgerService> = {
  async exportLedger({ day, pageToken }, context) {
    const { rpcContext, merchantId, environment } = scopedContextOf(context);
    // Never a replica, which may lag behind what is known to be closed.
    const { entries, nextPageToken = "" } = await readLedger([environment.database], {
      ...{ merchantId, day, pageToken, count: exportRows, keys: environment.core.pageTokenKey },
    });
    // An export leaves one audit row, however many calls it takes.
    if (pageToken !== "") rpcContext.leaveNoRow();
    const headings = pageToken === "" ? csvLine(columns) : "";
    const csv = headings + entries.map(csvOf).join("");
    return create(ExportLedgerResponseSchema, { csv, entries: entries.length, nextPageToken });
  },
};

const columns = [
  ...["type", "recorded_at", "session_id", "attempt_id", "refund_id", "order_ref"],
  ...["amount", "amount_minor", "currency", "gateway", "gateway_reference"],
];

function csvOf({ currency, amountMinor, refundId, ...entry }: LedgerEntry): string {
  return csvLine([
    entry.type,
    new Date(entry.recordedAt).toISOString(),
    encodeId("ps", entry.sessionId),
    encodeId("att", entry.attemptId),
    refundId === null ? "" : encodeId("ref", refundId),
    shownOrderRef(entry.orderRef),
    decimalOf(amountMinor, isoExponent(currency)),
    amountMinor,
    currency,
    entry.gateway,
    entry.gatewayReference ?? "",
  ]);
}
