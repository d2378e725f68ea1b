/** Claims by which an internal service names the merchant of a gRPC call; it signs one anew for every call. */
import { type SigningKey, secondsOf, signClaims } from "./service-token-signing.ts";
import { type EnvironmentName, type VerificationKey, verifyClaims } from "./signed-claims.ts";

type InternalServiceClaim = {
  readonly environment: EnvironmentName;
  /** The merchant's public id, `mer_…`. Without one, the token is for the events of all merchants of the service. */
  readonly merchant?: string | undefined;
};

/** A claim with the name of the service that signed it. */
export type VerifiedServiceClaim = InternalServiceClaim & { readonly service: string };

// Identifies the type, so that no claim for the vault is ever accepted as one.
const typ = "internal-service+jwt";
// Long enough for one call and its retry; a stolen token soon expires.
const lifetimeSeconds = 60;

const audienceOf = (environment: EnvironmentName) => `edge:${environment}`;

/** Returns a token for one call. `kid` is the service's name. */
export function signInternalServiceToken(
  key: Omit<SigningKey, "environment">,
  { environment, merchant }: InternalServiceClaim,
): string {
  const issuedAt = secondsOf(new Date());
  const claims = { merchant, aud: audienceOf(environment), iat: issuedAt, exp: issuedAt + lifetimeSeconds };
  return signClaims(key, typ, claims);
}

/**
 * Returns a token's claim, or undefined if no key of its environment signed it, if it has expired, or if its lifetime
 * is too long.
 */
export function verifyInternalServiceToken(
  keys: readonly VerificationKey[],
  token: string,
): VerifiedServiceClaim | undefined {
  const verified = verifyClaims(token, { keys, typ, audienceOf, ageMaxSeconds: lifetimeSeconds });
  if (verified.refused !== undefined) return undefined;
  const { merchant } = verified.claims;
  if (merchant !== undefined && typeof merchant !== "string") return undefined;
  const { environment, kid: service } = verified.key;
  return { environment, service, merchant };
}
