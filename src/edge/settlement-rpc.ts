/** The settlement rpcs of merchants' backends: proto ↔ reporting. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { LedgerEntry_Type } from "../../gen/payments/v1/ledger_pb.ts";
import {
  GetPayoutResponseSchema,
  ListPayoutLinesResponseSchema,
  ListPayoutsResponseSchema,
  ListSettlementsResponseSchema,
  Payout_Status,
  PayoutLine_Kind,
  PayoutLine_Status,
  Settlement_State,
  type SettlementService,
} from "../../gen/payments/v1/settlement_pb.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId, encodeId, type PayoutId } from "../platform/ids.ts";
import { requireDays } from "../reporting/ledger-days.ts";
import {
  findPayout,
  type ListedLine,
  type ListedPayout,
  lineStatuses,
  listPayoutLines,
  listPayouts,
} from "../reporting/payouts.ts";
import { type ListedSettlement, listSettlements, settlementStates } from "../reporting/settlements.ts";
import { listingOf } from "./caller.ts";
import { entryMessage } from "./ledger-rpc.ts";

/** The settlement rpcs; every method sees its own merchant and environment only. */
export const settlementService: ServiceImpl<typeof SettlementService> = {
  async listPayouts({ from, to, gateway, pageSize, pageToken }, context) {
    const { databases, ...call } = listingOf(context);
    requireDays({ from, to });
    const wanted = { ...call, filters: { from, to, gateway }, pageSize, pageToken };
    const { rows, nextPageToken } = await listPayouts(databases, wanted);
    return create(ListPayoutsResponseSchema, {
      payouts: rows.map(payoutMessage),
      ...(nextPageToken !== undefined && { nextPageToken }),
    });
  },

  async getPayout({ payoutId }, context) {
    const { databases, merchantId } = listingOf(context);
    const id = decodeId("pout", payoutId);
    const found = id && (await findPayout(databases, { merchantId, id }));
    if (!found) throw new DomainError("not_found", "There is no payout with this id.");
    return create(GetPayoutResponseSchema, { payout: payoutMessage(found) });
  },

  async listPayoutLines({ payoutId: asked, status, pageSize, pageToken }, context) {
    const { databases, ...call } = listingOf(context);
    const payoutId = asked === undefined ? undefined : requirePayoutId(asked);
    const filters = { payoutId, status: lineStatuses.find((name) => PayoutLine_Status[name] === status) };
    const { rows, nextPageToken } = await listPayoutLines(databases, { ...call, filters, pageSize, pageToken });
    return create(ListPayoutLinesResponseSchema, {
      lines: rows.map(lineMessage),
      ...(nextPageToken !== undefined && { nextPageToken }),
    });
  },

  async listSettlements({ from, to, state, pageSize, pageToken }, context) {
    const { databases, ...call } = listingOf(context);
    const wanted = { from, to, pageSize, pageToken };
    const { settlements, nextPageToken } = await listSettlements(databases, {
      ...call,
      ...wanted,
      state: settlementStates.find((name) => Settlement_State[name] === state),
    });
    return create(ListSettlementsResponseSchema, {
      settlements: settlements.map(settlementMessage),
      ...(nextPageToken !== undefined && { nextPageToken }),
    });
  },
};

function payoutMessage(payout: ListedPayout) {
  const { id, status, connectionId, amountMinor, arrivesOn, remainderMinor, completeAt, ...rest } = payout;
  return {
    ...rest,
    payoutId: encodeId("pout", id),
    connectionId: encodeId("gc", connectionId),
    status: Payout_Status[status],
    amountMinor: BigInt(amountMinor),
    ...(arrivesOn !== null && { arrivesOn }),
    ...(remainderMinor !== null && { remainderMinor: BigInt(remainderMinor) }),
    ...(completeAt !== null && { completeAt: timestampFromDate(completeAt) }),
  };
}

const entryPrefixes = { CAPTURED: "att", REFUNDED: "ref", REFUND_FAILED: "ref" } as const;

function lineMessage(line: ListedLine) {
  const { kind, status, gateway, gatewayType, gatewayReference, connectionId, recordedAt } = line;
  const { reason, currency, settlementCurrency, sessionId, entryType, entryId, payoutId } = line;
  const { grossMinor, settledGrossMinor, feeMinor, netMinor } = line;
  const prefix = (entryType && Object.entries(entryPrefixes).find(([type]) => type === entryType)?.[1]) ?? "dsp";
  return {
    ...{ gateway, gatewayType, gatewayReference },
    kind: PayoutLine_Kind[kind],
    status: PayoutLine_Status[status],
    connectionId: encodeId("gc", connectionId),
    recordedAt: timestampFromDate(recordedAt),
    ...(reason !== null && { reason }),
    ...(grossMinor !== null && { grossMinor: BigInt(grossMinor) }),
    ...(currency !== null && { currency }),
    ...(settledGrossMinor !== null && { settledGrossMinor: BigInt(settledGrossMinor) }),
    ...(feeMinor !== null && { feeMinor: BigInt(feeMinor) }),
    ...(netMinor !== null && { netMinor: BigInt(netMinor) }),
    ...(settlementCurrency !== null && { settlementCurrency }),
    ...(sessionId !== null && { sessionId: encodeId("ps", sessionId) }),
    ...(entryType !== null &&
      entryId !== null && { entryType: LedgerEntry_Type[entryType], entryId: encodeId(prefix, entryId) }),
    ...(payoutId !== null && { payoutId: encodeId("pout", payoutId) }),
  };
}

function settlementMessage(settlement: ListedSettlement) {
  const { entry, state, payoutId, feeMinor, netMinor, settlementCurrency, open } = settlement;
  return {
    entry: entryMessage(entry),
    state: Settlement_State[state],
    ...(payoutId !== null && { payoutId: encodeId("pout", payoutId) }),
    ...(feeMinor !== null && { feeMinor: BigInt(feeMinor) }),
    ...(netMinor !== null && { netMinor: BigInt(netMinor) }),
    ...(settlementCurrency !== null && { settlementCurrency }),
    ...open,
  };
}

function requirePayoutId(id: string): PayoutId {
  const payoutId = decodeId("pout", id);
  if (payoutId !== undefined) return payoutId;
  throw new DomainError("invalid_parameter", "payoutId must be pout_ and 26 digits and letters.", {
    field: "payoutId",
  });
}
