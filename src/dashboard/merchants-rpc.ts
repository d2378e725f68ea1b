import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { Environment } from "../../gen/dashboard/v1/environment_pb.ts";
import { type MerchantService, MoveMerchantResponseSchema } from "../../gen/dashboard/v1/merchants_pb.ts";
import { openEnvironmentTo } from "../accounts/issue-keys.ts";
import { createMerchant, listMerchants, type Merchant, recordCell } from "../accounts/merchants.ts";
import {
  closeCell,
  hasLeft,
  readConfiguration,
  recordCards,
  recordOrders,
  writeConfiguration,
} from "../accounts/move-merchant.ts";
import { findCell, firstCell } from "../platform/cells.ts";
import type { Tx } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { encodeId, type MerchantId } from "../platform/ids.ts";
import type { DashboardEnvironment, DashboardParts } from "./dashboard-parts.ts";
import { type RpcContext, requestedCell, rpcContextOf, type ScopedContext, scopedContextOf } from "./rpc-context.ts";

export function createMerchantService(parts: DashboardParts): ServiceImpl<typeof MerchantService> {
  return {
    async createMerchant({ name }, context) {
      const cell = requestedCell(context.requestHeader) ?? firstCell;
      const opened = await openMerchant(parts, rpcContextOf(context), { name, cell });
      return opened;
    },

    ...cellMethods(parts),

    async listMerchants() {
      const merchants = await listMerchants(parts.accounts);
      return { merchants: merchants.map(toMessage) };
    },
  };
}

/**
 * Creates a merchant with keys in every environment. `also` runs in the transaction that makes the merchant known: if it
 * fails, the keys belong to no merchant.
 */
export async function openMerchant(
  parts: Pick<DashboardParts, "environments" | "runtime" | "brand">,
  rpcContext: RpcContext,
  wanted: { name: string; cell: number; also?: (tx: Tx, merchantId: MerchantId) => Promise<void> },
) {
  const merchant = { id: parts.runtime.uuid(), name: wanted.name };
  const keys = [];
  const cells: Partial<Record<"test" | "live", number>> = {};
  for (const first of Object.values(parts.environments)) {
    const environment = findCell(first, wanted.cell) ?? first;
    cells[environment.name] = environment.cell;
    keys.push(await openEnvironment(parts, environment, { merchant, rpcContext }));
  }
  // Last, because databases share no transaction: a listed merchant is complete.
  await rpcContext.changeAccounts(async (tx) => {
    await createMerchant(tx, { ...merchant, cells });
    await wanted.also?.(tx, merchant.id);
  });
  return { merchant: toMessage({ ...merchant, cells }), keys };
}

async function openEnvironment(
  parts: Pick<DashboardParts, "runtime" | "brand">,
  served: DashboardEnvironment,
  { merchant, rpcContext }: { merchant: Pick<Merchant, "id" | "name">; rpcContext: RpcContext },
) {
  const environment = served.name;
  const issued = await rpcContext.changeEnvironment(served, async (tx) => {
    const maker = { runtime: parts.runtime, brand: parts.brand, environment, cell: served.cell };
    const subject = encodeId("mer", merchant.id);
    await rpcContext.audit(tx, { merchantId: merchant.id, subject, after: { name: merchant.name } });
    return openEnvironmentTo(tx, maker, merchant.id);
  });
  return {
    environment: environment === "live" ? Environment.LIVE : Environment.TEST,
    secretKey: issued.secretKey.expose(),
    publishableKey: issued.publishableKey.expose(),
  };
}

function toMessage({
  id,
  name,
  cells,
}: Pick<Merchant, "id" | "name"> & { readonly cells: Partial<Merchant["cells"]> }) {
  return { merchantId: encodeId("mer", id), name, testCell: cells.test ?? 0, liveCell: cells.live ?? 0 };
}

// The health of an endpoint belongs to the configuration and may change meanwhile.
const copiesMax = 10;

function cellMethods(parts: DashboardParts): Pick<ServiceImpl<typeof MerchantService>, "moveMerchant" | "listCells"> {
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
      return { cells: await Promise.all(listed) };
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
