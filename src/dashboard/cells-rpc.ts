/** The cells of the environments, and moves of merchants between them: proto ↔ accounts. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { Environment } from "../../gen/dashboard/v1/environment_pb.ts";
import {
  ListCellsResponseSchema,
  type MerchantService,
  MoveMerchantResponseSchema,
} from "../../gen/dashboard/v1/merchants_pb.ts";
import { listMerchants, recordCell } from "../accounts/merchants.ts";
import {
  closeCell,
  hasLeft,
  readConfiguration,
  recordCards,
  recordOrders,
  writeConfiguration,
} from "../accounts/move-merchant.ts";
import { DomainError } from "../platform/errors.ts";
import { encodeId } from "../platform/ids.ts";
import type { DashboardEnvironment, DashboardParts } from "./dashboard-parts.ts";
import { type ScopedContext, scopedContextOf } from "./rpc-context.ts";

// The health of an endpoint belongs to the configuration and may change meanwhile.
const copiesMax = 10;

export function cellMethods(
  parts: DashboardParts,
): Pick<ServiceImpl<typeof MerchantService>, "moveMerchant" | "listCells"> {
  return {
    async moveMerchant({ toCell }, context) {
      const scoped = scopedContextOf(context);
      const { merchantId, environment: from, rpcContext } = scoped;
      const to = toCell === from.cell ? from : from.cells?.get(toCell);
      if (to === undefined) throw new DomainError("invalid_field", "There is no such cell.", { field: "toCell" });
      if (to !== from && !(await hasLeft(from.database, { merchantId, toCell }))) await copyAndClose(scoped, to);
      await rpcContext.changeAccounts((tx) => recordCell(tx, { merchantId, environment: from.name, cell: toCell }));
      return create(MoveMerchantResponseSchema, { fromCell: from.cell, toCell });
    },

    async listCells() {
      const merchants = await listMerchants(parts.accounts);
      const cells = Object.values(parts.environments).flatMap((first) => [...(first.cells?.values() ?? [first])]);
      const listed = cells.map(async (environment) => {
        const counts = await countIn(environment).catch(() => undefined);
        return {
          environment: environment.name === "live" ? Environment.LIVE : Environment.TEST,
          cell: environment.cell,
          merchants: merchants.filter(({ cells }) => cells[environment.name] === environment.cell).length,
          available: counts !== undefined,
          ...counts,
        };
      });
      return create(ListCellsResponseSchema, { cells: await Promise.all(listed) });
    },
  };
}

/** Copies before it closes, without a lock in both: a cell that does not answer must not hold the other one's locks. */
async function copyAndClose({ merchantId, environment: from, rpcContext }: ScopedContext, to: DashboardEnvironment) {
  const subject = encodeId("mer", merchantId);
  for (let copies = 0; copies < copiesMax; copies++) {
    const copied = await readConfiguration(from.database, merchantId);
    await rpcContext.changeEnvironment(to, (tx) => writeConfiguration(tx, copied, { merchantId, fromCell: from.cell }));
    const isClosed = await rpcContext.changeEnvironment(from, async (tx) => {
      const closed = await closeCell(tx, copied, { merchantId, toCell: to.cell }, ({ orders, cards }) =>
        rpcContext.changeEnvironment(to, async (there) => {
          if (orders) await recordOrders(there, merchantId, orders);
          if (cards) await recordCards(there, merchantId, cards);
        }),
      );
      if (closed) await rpcContext.audit(tx, { subject, before: { cell: from.cell }, after: { cell: to.cell } });
      return closed;
    });
    if (isClosed) return;
  }
  throw new DomainError("unavailable", "The configuration changes all the time; repeat the move in a quiet moment.");
}

const selectCounts = {
  name: "count_in_cell",
  text: `
    SELECT (SELECT count(*) FROM merchant_settings WHERE moved_to IS NOT NULL)::int AS "formerMerchants",
      (SELECT count(*) FROM payment_session WHERE phase = 'PROCESSING')::int AS processing`,
};

async function countIn({ database }: DashboardEnvironment) {
  const [counts] = await database.query<{ formerMerchants: number; processing: number }>(selectCounts, []);
  return counts!;
}
