/** The merchants of the installation: proto ↔ accounts. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { Environment } from "../../gen/dashboard/v1/environment_pb.ts";
import {
  CreateMerchantResponseSchema,
  ListMerchantsResponseSchema,
  type MerchantService,
} from "../../gen/dashboard/v1/merchants_pb.ts";
import { openEnvironmentTo } from "../accounts/issue-keys.ts";
import { createMerchant, listMerchants, type Merchant } from "../accounts/merchants.ts";
import { encodeId } from "../platform/ids.ts";
import type { DashboardEnvironment, DashboardParts } from "./dashboard-parts.ts";
import { type Visit, visitOf } from "./visit.ts";

/** The rpcs that make and list merchants. */
export function createMerchantService(parts: DashboardParts): ServiceImpl<typeof MerchantService> {
  return {
    async createMerchant({ name }, context) {
      const merchant = { id: parts.entropy.uuid(), name };
      const keys = [];
      for (const environment of Object.values(parts.environments)) {
        keys.push(await openEnvironment(parts, environment, { merchant, visit: visitOf(context) }));
      }
      // Last, because databases share no transaction: a merchant that is found has everything it needs.
      await createMerchant(parts.accounts, merchant);
      return create(CreateMerchantResponseSchema, { merchant: toMessage(merchant), keys });
    },

    async listMerchants() {
      const merchants = await listMerchants(parts.accounts);
      return create(ListMerchantsResponseSchema, { merchants: merchants.map(toMessage) });
    },
  };
}

async function openEnvironment(
  parts: DashboardParts,
  { name: environment, database }: DashboardEnvironment,
  { merchant, visit }: { merchant: Merchant; visit: Visit },
) {
  const issued = await database.transaction(async (tx) => {
    const maker = { entropy: parts.entropy, brand: parts.brand, environment };
    const subject = encodeId("mer", merchant.id);
    await visit.audit(tx, { merchantId: merchant.id, subject, after: { name: merchant.name } });
    return openEnvironmentTo(tx, maker, merchant.id);
  });
  return {
    environment: environment === "live" ? Environment.LIVE : Environment.TEST,
    secretKey: issued.secretKey.expose(),
    publishableKey: issued.publishableKey.expose(),
  };
}

function toMessage({ id, name }: Merchant) {
  return { merchantId: encodeId("mer", id), name };
}
