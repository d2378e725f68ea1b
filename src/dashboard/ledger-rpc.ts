/** The ledger of past days as totals and as CSV: proto ↔ reporting. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { ExportLedgerResponseSchema, type LedgerService } from "../../gen/dashboard/v1/ledger_pb.ts";
import { encodeId } from "../platform/ids.ts";
import { decimalOf, isoExponent } from "../platform/money.ts";
import { type LedgerEntry, readLedger } from "../reporting/ledger.ts";
import { type LedgerTotal, totalLedger } from "../reporting/ledger-totals.ts";
import { shownOrderRef } from "../reporting/shown-order-ref.ts";
import { csvLine } from "./csv.ts";
import { amountMessage } from "./payment-messages.ts";
import { scopedContextOf } from "./rpc-context.ts";

// Rows of one call of an export: a quarter of a megabyte.
const exportRows = 1_000;

export const ledgerService: ServiceImpl<typeof LedgerService> = {
  async getLedgerTotals(days, context) {
    const { merchantId, environment } = scopedContextOf(context);
    // A replica is never used, for the same reason as below.
    const totals = await totalLedger(environment.database, { merchantId, days });
    const places = Map.groupBy(totals, ({ gateway, currency }) => `${gateway} ${currency}`);
    const sorted = [...places].toSorted(([one], [other]) => (one < other ? -1 : 1));
    return { totals: sorted.map(([, place]) => totalMessage(place)) };
  },

  async exportLedger({ pageToken, ...days }, context) {
    const { rpcContext, merchantId, environment } = scopedContextOf(context);
    // A replica is never used: it may lag behind the days that are known to be closed.
    const { entries, nextPageToken = "" } = await readLedger([environment.database], {
      merchantId,
      days,
      pageToken,
      count: exportRows,
      keys: environment.core.pageTokenKey,
    });
    // An export leaves one audit row, however many calls it takes.
    if (pageToken !== "") rpcContext.leaveNoRow();
    const headings = pageToken === "" ? csvLine(columns) : "";
    const csv = headings + entries.map(csvOf).join("");
    return create(ExportLedgerResponseSchema, { csv, entries: entries.length, nextPageToken });
  },
};

// The sign of each entry in the merchant's balance at the gateway.
const signs = {
  CAPTURED: 1,
  CAPTURE_FAILED: -1,
  VOIDED: 0,
  REFUNDED: -1,
  REFUND_FAILED: 1,
  CHARGEBACK: -1,
  CHARGEBACK_REVERSED: 1,
} as const;

function totalMessage(place: readonly LedgerTotal[]) {
  const { gateway, currency } = place[0]!;
  const sumOf = (type: LedgerTotal["type"]) => {
    const total = place.find((one) => one.type === type);
    return total && { entries: total.entries, amount: amountMessage(total.amountMinor, currency) };
  };
  const [captured, captureFailed, voided] = [sumOf("CAPTURED"), sumOf("CAPTURE_FAILED"), sumOf("VOIDED")];
  const [refunded, refundFailed] = [sumOf("REFUNDED"), sumOf("REFUND_FAILED")];
  const [charged, chargeReversed] = [sumOf("CHARGEBACK"), sumOf("CHARGEBACK_REVERSED")];
  const net = place.reduce((sum, { type, amountMinor }) => sum + signs[type] * amountMinor, 0);
  return {
    gateway,
    currency,
    net: amountMessage(net, currency),
    ...(captured && { captured }),
    ...(captureFailed && { captureFailed }),
    ...(refunded && { refunded }),
    ...(refundFailed && { refundFailed }),
    ...(voided && { voided }),
    ...(charged && { chargeback: charged }),
    ...(chargeReversed && { chargebackReversed: chargeReversed }),
  };
}

const columns = [
  ...["type", "recorded_at", "session_id", "attempt_id", "refund_id", "order_ref"],
  ...["amount", "amount_minor", "currency", "gateway", "gateway_reference", "dispute_id"],
];

function csvOf({ currency, amountMinor, refundId, disputeId, ...entry }: LedgerEntry): string {
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
    disputeId === null ? "" : encodeId("dsp", disputeId),
  ]);
}
