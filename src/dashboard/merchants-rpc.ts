import type { ServiceImpl } from "@connectrpc/connect";
import { Environment } from "../../gen/dashboard/v1/environment_pb.ts";
import type { MerchantService } from "../../gen/dashboard/v1/merchants_pb.ts";
import { openEnvironmentTo } from "../accounts/issue-keys.ts";
import { createMerchant, listMerchants, type Merchant } from "../accounts/merchants.ts";
import { findCell, firstCell } from "../platform/cells.ts";
import type { Tx } from "../platform/database.ts";
import { encodeId, type MerchantId } from "../platform/ids.ts";
import { cellMethods } from "./cells-rpc.ts";
import type { DashboardEnvironment, DashboardParts } from "./dashboard-parts.ts";
import { type RpcContext, requestedCell, rpcContextOf } from "./rpc-context.ts";

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
