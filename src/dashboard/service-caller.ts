/** Internal services as callers of the dashboard's methods, such as a pipeline that applies a configuration. */
import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { service_right as serviceRight } from "../../gen/dashboard/v1/role_pb.ts";
import { requireAnyRight } from "../accounts/rights.ts";
import { DomainError } from "../platform/errors.ts";
import { decodeId } from "../platform/ids.ts";
import { type VerifiedServiceClaim, verifyInternalServiceToken } from "../platform/internal-service-token.ts";
import type { ServedParts } from "./dashboard-parts.ts";
import { noSuchMerchant, type RequestScope } from "./rpc-context.ts";

/** Returns the claim of a service's token; undefined for any other header. Throws `invalid_key` for one that is not valid. */
export function findServiceClaim(
  { services }: ServedParts,
  authorization: string | null,
): VerifiedServiceClaim | undefined {
  // Operators' tokens have no dots.
  const token = /^bearer ([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(authorization ?? "")?.[1];
  if (token === undefined || services === undefined) return undefined;
  const claim = verifyInternalServiceToken(services.entries(), token);
  if (claim !== undefined) return claim;
  const detail =
    "This token of an internal service is not valid: it is signed by no service of the file, or it has expired.";
  throw new DomainError("invalid_key", detail);
}

/**
 * Throws unless the service's entry has the method's right, and the token, the entry and the request agree about merchant and
 * environment. The entry is read anew each time: one that is gone admits nothing.
 */
export function requireServiceRight(
  { services }: ServedParts,
  method: DescMethod,
  claim: VerifiedServiceClaim,
  scope: RequestScope | undefined,
): void {
  const entry = services
    ?.entries()
    .find(({ kid, environment }) => kid === claim.service && environment === claim.environment);
  const right = getOption(method, serviceRight);
  requireAnyRight(right === "" ? [] : [right], entry?.rights ?? []);
  const merchantId = claim.merchant === undefined ? undefined : decodeId("mer", claim.merchant);
  const isListed = entry?.merchants === "*" || (merchantId !== undefined && entry?.merchants.includes(merchantId));
  const isScope = scope?.merchantId === merchantId && scope?.environment?.name === claim.environment;
  if (merchantId === undefined || !isListed || !isScope) throw noSuchMerchant();
}
