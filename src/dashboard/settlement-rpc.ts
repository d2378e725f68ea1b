/** Payouts and settlement for people: proto ↔ reporting. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type {
  PayoutFilter,
  PayoutLineFilter,
  SettlementFilter,
  SettlementService,
} from "../../gen/dashboard/v1/settlement_pb.ts";
import { PayoutLine_Kind, PayoutLine_Status, Settlement_State } from "../../gen/payments/v1/settlement_pb.ts";
import { DomainError } from "../platform/errors.ts";
import { readCosts } from "../reporting/costs.ts";
import { requireDays } from "../reporting/ledger-days.ts";
import { findPayout, lineStatuses, listPayoutLines, listPayouts } from "../reporting/payouts.ts";
import {
  countLines,
  countUnmatched,
  findOrderRefs,
  findPayoutNames,
  groupOpen,
  linesCounted,
  totalLines,
} from "../reporting/settlement-overview.ts";
import {
  type ListedSettlement,
  listPaymentSettlements,
  listSettlements,
  settlementStates,
} from "../reporting/settlements.ts";
import { amountMessage } from "./payment-messages.ts";
import { scopedContextOf } from "./rpc-context.ts";
import {
  costMessage,
  lineColumns,
  lineCsv,
  lineMessage,
  payoutColumns,
  payoutCsv,
  payoutMessage,
  settlementColumns,
  settlementCsv,
  settlementMessage,
} from "./settlement-messages.ts";
import { requireId } from "./webhook-messages.ts";

// Rows of one call of an export: a quarter of a megabyte.
const exportRows = 1_000;
// Pages that one call reads of a list whose filter finds nothing.
const pagesMax = 5;

type Paged<Filter> = {
  readonly filter?: Filter | undefined;
  readonly pageSize?: number | undefined;
  readonly pageToken: string;
};

/** The rpcs of the pages Payouts and Settlement. All of them read only, in the cell of the page. */
export const settlementService: ServiceImpl<typeof SettlementService> = {
  async listPayouts(request, context) {
    const { rows, counts, nextPageToken = "" } = await loadPayouts(request, context);
    return { payouts: rows.map((row) => payoutMessage(row, counts.get(row.id))), nextPageToken };
  },

  async exportPayouts({ filter, pageToken }, context) {
    const { rows, counts, nextPageToken = "" } = await loadPayouts({ filter, pageToken }, context, true);
    const lines = rows.map((row) => payoutCsv(row, counts.get(row.id)));
    return { csv: csvOf(payoutColumns, lines, pageToken, context), payouts: rows.length, nextPageToken };
  },

  async getPayout({ payoutId }, context) {
    const { merchantId, environment } = scopedContextOf(context);
    const { database } = environment;
    const id = requireId("pout", payoutId, "payout");
    const payout = await findPayout([database], { merchantId, id });
    if (payout === undefined) throw new DomainError("not_found", "This payout does not exist.");
    const counts = await countLines(database, [payout]);
    const totals = await totalLines(database, id);
    const { currency } = payout;
    return {
      payout: payoutMessage(payout, counts.get(id)),
      totals: totals.map(({ kind, lines, grossMinor, feeMinor, netMinor }) => ({
        kind: PayoutLine_Kind[kind],
        lines,
        gross: amountMessage(grossMinor, currency),
        fee: amountMessage(feeMinor, currency),
        net: amountMessage(netMinor, currency),
      })),
    };
  },

  async listPayoutLines(request, context) {
    const { rows, orderRefs, nextPageToken = "" } = await loadLines(request, context);
    const lines = rows.map((row) => lineMessage(row, row.sessionId ? orderRefs.get(row.sessionId) : undefined));
    return { lines, nextPageToken };
  },

  async exportPayoutLines({ filter, pageToken }, context) {
    const { rows, orderRefs, nextPageToken = "" } = await loadLines({ filter, pageToken }, context, true);
    const lines = rows.map((row) => lineCsv(row, row.sessionId ? orderRefs.get(row.sessionId) : undefined));
    return { csv: csvOf(lineColumns, lines, pageToken, context), lines: rows.length, nextPageToken };
  },

  async listSettlements(request, context) {
    const { rows, payouts, nextPageToken = "" } = await loadSettlements(request, context);
    return { settlements: rows.map((row) => settlementMessage(row, payouts)), nextPageToken };
  },

  async exportSettlements({ filter, pageToken }, context) {
    const { rows, payouts, nextPageToken = "" } = await loadSettlements({ filter, pageToken }, context, true);
    const lines = rows.map((row) => settlementCsv(row, payouts));
    return { csv: csvOf(settlementColumns, lines, pageToken, context), settlements: rows.length, nextPageToken };
  },

  async getSettlementOverview({ filter }, context) {
    const { merchantId, environment } = scopedContextOf(context);
    const { from, to, gateway } = settlementFilterOf(filter);
    const { groups, countedUntil } = await groupOpen(environment.database, { from, to, gateway, ...pagingOf(context) });
    const unmatched = await countUnmatched(environment.database, merchantId);
    return {
      open: groups.map(({ reason, movements, byAge, owed }) => ({
        reason,
        movements,
        byAge: [...byAge],
        owed: [...owed].map(([currency, minor]) => amountMessage(minor, currency)),
      })),
      ...(countedUntil && { countedUntil: timestampFromDate(countedUntil) }),
      unmatched: [...unmatched],
      unmatchedCut: unmatched.reduce((sum, { lines }) => sum + lines, 0) === linesCounted,
    };
  },

  async getCosts({ firstDay, lastDay, gateway }, context) {
    const { merchantId, environment } = scopedContextOf(context);
    requireDays({ from: firstDay, to: lastDay });
    const costs = await readCosts(environment.database, {
      merchantId,
      firstDay,
      lastDay,
      gateway: gateway || undefined,
    });
    return { costs: costs.map(costMessage) };
  },

  async getPaymentSettlements({ sessionId }, context) {
    const { merchantId, environment } = scopedContextOf(context);
    const id = requireId("ps", sessionId, "payment");
    const rows = await listPaymentSettlements(environment.database, { merchantId, sessionId: id });
    const payouts = await findPayoutNames(environment.database, merchantId, rows);
    return { settlements: rows.map((row) => settlementMessage(row, payouts)) };
  },
};

function pagingOf(context: HandlerContext) {
  const { merchantId, environment } = scopedContextOf(context);
  const { pageTokenKey: keys, runtime } = environment.core;
  return { merchantId, keys, now: runtime.now() };
}

/** Adds the headings to the first lines. An export leaves one audit row, however many calls it takes. */
function csvOf(headings: string, lines: readonly string[], pageToken: string, context: HandlerContext): string {
  if (pageToken !== "") scopedContextOf(context).rpcContext.leaveNoRow();
  return (pageToken === "" ? headings : "") + lines.join("");
}

async function loadPayouts(request: Paged<PayoutFilter>, context: HandlerContext, isExport = false) {
  const { database } = scopedContextOf(context).environment;
  const { from, to, gateway, withRemainder } = request.filter ?? {};
  requireDays({ from, to });
  const filters = {
    ...(from && { from }),
    ...(to && { to }),
    ...(gateway && { gateway }),
    ...(withRemainder && { hasRemainder: true as const }),
  };
  const page = await listPayouts([database], { ...pagingOf(context), ...pageOf(request, isExport), filters });
  return { ...page, counts: await countLines(database, page.rows) };
}

async function loadLines(request: Paged<PayoutLineFilter>, context: HandlerContext, isExport = false) {
  const { merchantId, environment } = scopedContextOf(context);
  const { database } = environment;
  const { payoutId, status: asked, reason } = request.filter ?? {};
  const status = lineStatuses.find((name) => PayoutLine_Status[name] === asked);
  const filters = {
    ...(payoutId && { payoutId: requireId("pout", payoutId, "payout") }),
    ...(status && { status }),
    ...(reason && { reason }),
  };
  const page = await listPayoutLines([database], { ...pagingOf(context), ...pageOf(request, isExport), filters });
  return { ...page, orderRefs: await findOrderRefs(database, merchantId, page.rows) };
}

async function loadSettlements(request: Paged<SettlementFilter>, context: HandlerContext, isExport = false) {
  const { merchantId, environment } = scopedContextOf(context);
  const { reason, gateway, ...filter } = settlementFilterOf(request.filter);
  const isWanted = ({ entry, open }: ListedSettlement) =>
    (gateway === undefined || entry.gateway === gateway) && (reason === undefined || open?.reason === reason);
  const paging = { ...pagingOf(context), ...filter, ...pageOf(request, isExport) };
  // The reason of a movement is not stored: a page has those of its movements that fit.
  let page = await listSettlements([environment.database], paging);
  let rows = page.settlements.filter(isWanted);
  for (let pages = 1; rows.length === 0 && page.nextPageToken && pages < pagesMax; pages++) {
    page = await listSettlements([environment.database], { ...paging, pageToken: page.nextPageToken });
    rows = page.settlements.filter(isWanted);
  }
  const payouts = await findPayoutNames(environment.database, merchantId, rows);
  return { rows, payouts, nextPageToken: page.nextPageToken };
}

function pageOf({ pageSize, pageToken }: Paged<object>, isExport: boolean) {
  return { isExport, pageSize: isExport ? exportRows : pageSize, pageToken };
}

/** Returns the filter. A reason is that of an open movement. */
function settlementFilterOf(filter: SettlementFilter | undefined) {
  const { from, to, state, reason, gateway } = filter ?? {};
  requireDays({ from, to });
  return {
    from: from || undefined,
    to: to || undefined,
    state: reason ? ("OPEN" as const) : settlementStates.find((name) => Settlement_State[name] === state),
    reason: reason || undefined,
    gateway: gateway || undefined,
  };
}
