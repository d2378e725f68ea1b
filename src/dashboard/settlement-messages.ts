import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { LedgerEntry_Type } from "../../gen/payments/v1/ledger_pb.ts";
import {
  Payout_Status,
  PayoutLine_Kind,
  PayoutLine_Status,
  Settlement_State,
} from "../../gen/payments/v1/settlement_pb.ts";
import { encodeId, type PayoutId } from "../platform/ids.ts";
import { decimalOf, isoExponent } from "../platform/money.ts";
import type { GatewayCost } from "../reporting/costs.ts";
import type { ListedLine, ListedPayout } from "../reporting/payouts.ts";
import type { LineCounts } from "../reporting/settlement-overview.ts";
import type { ListedSettlement } from "../reporting/settlements.ts";
import { shownOrderRef } from "../reporting/shown-order-ref.ts";
import { csvLine } from "./csv.ts";
import { amountMessage } from "./payment-messages.ts";

const amountIf = (minor: number | null, currency: string | null) =>
  minor === null || currency === null ? undefined : amountMessage(minor, currency);

export function payoutMessage(payout: ListedPayout, counts: LineCounts | undefined) {
  const { id, gateway, gatewayReference, status, connectionId, amountMinor, currency, arrivesOn } = payout;
  const { remainderMinor, completeAt } = payout;
  const remainder = amountIf(remainderMinor, currency);
  return {
    payoutId: encodeId("pout", id),
    gateway,
    gatewayReference,
    connectionId: encodeId("gc", connectionId),
    status: Payout_Status[status],
    amount: amountMessage(amountMinor, currency),
    arrivesOn: arrivesOn ?? "",
    ...(remainder && { remainder }),
    ...(completeAt && { completeAt: timestampFromDate(completeAt) }),
    ...(counts && { matched: counts.matched, unmatched: counts.unmatched, account: counts.account }),
    linesCut: counts?.isCut ?? false,
  };
}

export function lineMessage(line: ListedLine, orderRef: string | undefined) {
  const { kind, status, reason, currency, settlementCurrency, sessionId, payoutId, connectionId } = line;
  const [gross, settledGross] = [
    amountIf(line.grossMinor, currency),
    amountIf(line.settledGrossMinor, settlementCurrency),
  ];
  const [fee, net] = [amountIf(line.feeMinor, settlementCurrency), amountIf(line.netMinor, settlementCurrency)];
  return {
    kind: PayoutLine_Kind[kind],
    status: PayoutLine_Status[status],
    reason: reason ?? "",
    ...(gross && { gross }),
    ...(settledGross && { settledGross }),
    ...(fee && { fee }),
    ...(net && { net }),
    gatewayType: line.gatewayType,
    gatewayReference: line.gatewayReference,
    sessionId: sessionId === null ? "" : encodeId("ps", sessionId),
    orderRef: orderRef === undefined ? "" : shownOrderRef(orderRef),
    payoutId: payoutId === null ? "" : encodeId("pout", payoutId),
    gateway: line.gateway,
    connectionId: encodeId("gc", connectionId),
    recordedAt: timestampFromDate(line.recordedAt),
  };
}

type PayoutNames = ReadonlyMap<PayoutId, Pick<ListedPayout, "gatewayReference" | "arrivesOn">>;

export function settlementMessage(settlement: ListedSettlement, payouts: PayoutNames) {
  const { entry, state, payoutId, feeMinor, netMinor, settlementCurrency, open } = settlement;
  const payout = payoutId === null ? undefined : payouts.get(payoutId);
  const [fee, net] = [amountIf(feeMinor, settlementCurrency), amountIf(netMinor, settlementCurrency)];
  return {
    type: LedgerEntry_Type[entry.type],
    recordedAt: timestampFromDate(new Date(entry.recordedAt)),
    sessionId: encodeId("ps", entry.sessionId),
    orderRef: shownOrderRef(entry.orderRef),
    amount: amountMessage(entry.amountMinor, entry.currency),
    gateway: entry.gateway,
    gatewayReference: entry.gatewayReference ?? "",
    state: Settlement_State[state],
    payoutId: payoutId === null ? "" : encodeId("pout", payoutId),
    payoutReference: payout?.gatewayReference ?? "",
    arrivesOn: payout?.arrivesOn ?? "",
    ...(fee && { fee }),
    ...(net && { net }),
    ...open,
  };
}

export function costMessage({ gateway, currency, payments, grossMinor, ...cost }: GatewayCost) {
  return {
    gateway,
    payments,
    settledGross: amountMessage(grossMinor, currency),
    fee: amountMessage(cost.feeMinor, currency),
    ...(grossMinor > 0 && { rate: cost.feeMinor / grossMinor }),
    disputeFee: amountMessage(cost.disputeFeeMinor, currency),
    accountFee: amountMessage(cost.accountFeeMinor, currency),
  };
}

const decimal = (minor: number | null, currency: string | null) =>
  minor === null || currency === null ? "" : { decimal: decimalOf(minor, isoExponent(currency)) };

export const payoutColumns = csvLine([
  ...["payout_id", "gateway", "gateway_reference", "status", "amount", "amount_minor", "currency", "arrives_on"],
  ...["lines_matched", "lines_unmatched", "lines_of_account", "remainder", "complete_at"],
]);

export function payoutCsv(payout: ListedPayout, counts: LineCounts | undefined): string {
  const { currency, completeAt } = payout;
  // Above the number that is counted, the cells are empty: a part of the lines would be taken for all of them.
  const counted = counts && !counts.isCut ? counts : undefined;
  return csvLine([
    encodeId("pout", payout.id),
    payout.gateway,
    payout.gatewayReference,
    payout.status,
    decimal(payout.amountMinor, currency),
    payout.amountMinor,
    currency,
    payout.arrivesOn ?? "",
    counted?.matched ?? "",
    counted?.unmatched ?? "",
    counted?.account ?? "",
    decimal(payout.remainderMinor, currency),
    completeAt?.toISOString() ?? "",
  ]);
}

export const lineColumns = csvLine([
  ...["payout_id", "gateway", "kind", "status", "reason", "gross", "currency", "settled_gross", "fee", "net"],
  ...["settlement_currency", "gateway_type", "gateway_reference", "session_id", "order_ref", "recorded_at"],
]);

export function lineCsv(line: ListedLine, orderRef: string | undefined): string {
  const { currency, settlementCurrency, sessionId, payoutId } = line;
  return csvLine([
    payoutId === null ? "" : encodeId("pout", payoutId),
    line.gateway,
    line.kind,
    line.status,
    line.reason ?? "",
    decimal(line.grossMinor, currency),
    currency ?? "",
    decimal(line.settledGrossMinor, settlementCurrency),
    decimal(line.feeMinor, settlementCurrency),
    decimal(line.netMinor, settlementCurrency),
    settlementCurrency ?? "",
    line.gatewayType,
    line.gatewayReference,
    sessionId === null ? "" : encodeId("ps", sessionId),
    orderRef === undefined ? "" : shownOrderRef(orderRef),
    line.recordedAt.toISOString(),
  ]);
}

export const settlementColumns = csvLine([
  ...["type", "recorded_at", "session_id", "order_ref", "amount", "amount_minor", "currency", "gateway"],
  ...["gateway_reference", "state", "payout_id", "payout_reference", "arrives_on", "fee", "net", "settlement_currency"],
  ...["age_days", "reason"],
]);

export function settlementCsv(settlement: ListedSettlement, payouts: PayoutNames): string {
  const { entry, state, payoutId, feeMinor, netMinor, settlementCurrency, open } = settlement;
  const payout = payoutId === null ? undefined : payouts.get(payoutId);
  return csvLine([
    entry.type,
    new Date(entry.recordedAt).toISOString(),
    encodeId("ps", entry.sessionId),
    shownOrderRef(entry.orderRef),
    decimal(entry.amountMinor, entry.currency),
    entry.amountMinor,
    entry.currency,
    entry.gateway,
    entry.gatewayReference ?? "",
    state,
    payoutId === null ? "" : encodeId("pout", payoutId),
    payout?.gatewayReference ?? "",
    payout?.arrivesOn ?? "",
    decimal(feeMinor, settlementCurrency),
    decimal(netMinor, settlementCurrency),
    settlementCurrency ?? "",
    open?.ageDays ?? "",
    open?.reason ?? "",
  ]);
}
