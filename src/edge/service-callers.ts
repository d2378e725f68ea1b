/** Admits internal services on the gRPC port: their token replaces the merchant's secret key. */
import type { DescMethod } from "@bufbuild/protobuf";
import { EventService } from "../../gen/payments/v1/event_pb.ts";
import { withoutKey } from "../accounts/api-keys.ts";
import { findSettings } from "../accounts/merchant-settings.ts";
import { findMerchant } from "../accounts/merchants.ts";
import type { CallingServices, InternalService } from "../accounts/services-file.ts";
import { firstCell, requireCell } from "../platform/cells.ts";
import type { Queryable } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId } from "../platform/ids.ts";
import { type VerifiedServiceClaim, verifyInternalServiceToken } from "../platform/internal-service-token.ts";
import { type Authenticate, isMerchantService, requireMethodRight } from "./authenticate.ts";
import { type Caller, type EdgeEnvironments, invalidKeyDetail } from "./caller.ts";

type ServedMerchants = { readonly environments: EdgeEnvironments; readonly accounts: Queryable };

/**
 * Authenticates like `others`, and a service's token as the merchant that it names, with the service's rights. For
 * events a token may name no merchant: it is then for all of the service's merchants.
 */
export function createServiceAuthenticate(
  others: Authenticate,
  { environments, accounts }: ServedMerchants,
  { entries, onCall }: CallingServices,
): Authenticate {
  return async (method, authorization, setLimitHeaders, client) => {
    // Our API keys have no dots.
    const token = /^bearer ([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(authorization ?? "")?.[1];
    if (token === undefined || !isMerchantService(method.parent.typeName)) {
      return others(method, authorization, setLimitHeaders, client);
    }
    const claim = verifyInternalServiceToken(entries(), token);
    const admit = async (): Promise<Caller> => {
      const caller = claim && (await callerOf({ environments, accounts }, entries(), { claim, method }));
      if (caller === undefined) throw new DomainError("invalid_key", invalidKeyDetail);
      requireMethodRight(method, caller.type === "service" ? caller.service.rights : caller.holder.rights);
      return { ...caller, again: admit };
    };
    const caller = await admit();
    if (claim !== undefined) onCall(claim);
    if (caller.type === "merchant") {
      const { environment, holder } = caller;
      const { merchantId } = holder;
      await environment.requestLimits?.count(`service ${merchantId}`, { merchantId }, setLimitHeaders);
    }
    return caller;
  };
}

type Admitted = Extract<Caller, { type: "merchant" | "service" }>;

async function callerOf(
  { environments, accounts }: ServedMerchants,
  services: readonly InternalService[],
  { claim, method }: { claim: VerifiedServiceClaim; method: DescMethod },
): Promise<
  | Omit<Extract<Admitted, { type: "merchant" }>, "again">
  | Omit<Extract<Admitted, { type: "service" }>, "again">
  | undefined
> {
  const named = environments[claim.environment];
  const service = services.find(({ kid, environment }) => kid === claim.service && environment === claim.environment);
  if (!service) return undefined;
  if (claim.merchant === undefined) {
    const isForAll = named !== undefined && method.parent.typeName === EventService.typeName;
    return isForAll ? { type: "service", environment: named, service } : undefined;
  }
  const merchantId = decodeId("mer", claim.merchant);
  if (!merchantId || !(service.merchants === "*" || service.merchants.includes(merchantId))) return undefined;
  const merchant = named?.cells ? await findMerchant(accounts, merchantId) : undefined;
  const environment = named && requireCell(named, merchant?.cells[named.name] ?? firstCell);
  const settings = environment && (await findSettings(environment.database, merchantId));
  if (!settings) return undefined;
  const { rights } = service;
  return {
    type: "merchant",
    environment,
    holder: { ...settings, ...withoutKey, keyName: service.kid, rights, kind: "secret" },
  };
}
