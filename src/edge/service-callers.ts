/** Admits internal services on the gRPC port: their token replaces the merchant's secret key. */
import { withoutKey } from "../accounts/api-keys.ts";
import { findSettings } from "../accounts/merchant-settings.ts";
import { findMerchant } from "../accounts/merchants.ts";
import type { InternalService } from "../accounts/services-file.ts";
import { firstCell, requireCell } from "../platform/cells.ts";
import type { Queryable } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId } from "../platform/ids.ts";
import { verifyInternalServiceToken } from "../platform/internal-service-token.ts";
import { type Authenticate, isMerchantService, requireMethodRight } from "./authenticate.ts";
import { type Caller, type EdgeEnvironments, invalidKeyDetail } from "./caller.ts";

type ServedMerchants = { readonly environments: EdgeEnvironments; readonly accounts: Queryable };

/** Authenticates like `others`, and a service's token as the merchant that it names, with the service's rights. */
export function createServiceAuthenticate(
  others: Authenticate,
  { environments, accounts }: ServedMerchants,
  services: () => readonly InternalService[],
): Authenticate {
  return async (method, authorization, setLimitHeaders, client) => {
    // Our API keys have no dots.
    const token = /^bearer ([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(authorization ?? "")?.[1];
    if (token === undefined || !isMerchantService(method.parent.typeName)) {
      return others(method, authorization, setLimitHeaders, client);
    }
    const caller = await callerOf({ environments, accounts }, services(), token);
    if (caller === undefined) throw new DomainError("invalid_key", invalidKeyDetail);
    const { environment, holder } = caller;
    const { merchantId } = holder;
    requireMethodRight(method, holder.rights);
    await environment.requestLimits?.count(`service ${merchantId}`, merchantId, setLimitHeaders);
    return caller;
  };
}

async function callerOf(
  { environments, accounts }: ServedMerchants,
  services: readonly InternalService[],
  token: string,
): Promise<Extract<Caller, { type: "merchant" }> | undefined> {
  const claim = verifyInternalServiceToken(services, token);
  const named = claim && environments[claim.environment];
  const merchantId = claim && decodeId("mer", claim.merchant);
  const service = services.find(({ kid, environment }) => kid === claim?.service && environment === claim.environment);
  if (!service || !merchantId || !(service.merchants === "*" || service.merchants.includes(merchantId)))
    return undefined;
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
