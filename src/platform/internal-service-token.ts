/** Claims by which an internal service names the merchant of a gRPC call; it signs one anew for every call. */
import type { KeyObject } from "node:crypto";
import { decodeJwt, errors, type JWTPayload, jwtVerify, SignJWT } from "jose";
import type { EnvironmentName, VerificationKey } from "./service-token.ts";

/** The merchant for whom a service calls. */
export type InternalServiceClaim = {
  readonly environment: EnvironmentName;
  /** The merchant's public id, `mer_…`. */
  readonly merchant: string;
};

// Identifies the type, so that no claim for the vault is ever accepted as one.
const type = "internal-service+jwt";
// Long enough for one call and its retry; a stolen token soon expires.
const lifetimeSeconds = 60;
// Allows for clocks of two machines that differ by a few seconds.
const clockToleranceSeconds = 5;

const audienceOf = (environment: EnvironmentName) => `edge:${environment}`;

/** Returns a token for one call. `kid` is the name of the service's public key in the key file. */
export function signInternalServiceToken(
  key: { readonly kid: string; readonly privateKey: KeyObject },
  { environment, merchant }: InternalServiceClaim,
): Promise<string> {
  return new SignJWT({ merchant })
    .setProtectedHeader({ alg: "EdDSA", kid: key.kid, typ: type })
    .setAudience(audienceOf(environment))
    .setIssuedAt()
    .setExpirationTime(`${lifetimeSeconds}s`)
    .sign(key.privateKey);
}

/**
 * Returns a token's claim, or undefined if no key of its environment signed it, if it has expired, or if its lifetime
 * is too long.
 */
export async function verifyInternalServiceToken(
  keys: readonly VerificationKey[],
  token: string,
): Promise<InternalServiceClaim | undefined> {
  let payload: JWTPayload;
  let key: VerificationKey | undefined;
  try {
    // A service may have one name in both environments, with a key for each: the audience selects one.
    const { aud } = decodeJwt(token);
    const findKey = ({ kid }: { kid?: string }) => {
      key = keys.find((candidate) => candidate.kid === kid && aud === audienceOf(candidate.environment));
      if (key === undefined) throw new errors.JWKSNoMatchingKey();
      return key.publicKey;
    };
    ({ payload } = await jwtVerify(token, findKey, {
      algorithms: ["EdDSA"],
      typ: type,
      requiredClaims: ["exp", "iat"],
      maxTokenAge: lifetimeSeconds,
      clockTolerance: clockToleranceSeconds,
    }));
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined;
    throw error;
  }
  return key && typeof payload.merchant === "string"
    ? { environment: key.environment, merchant: payload.merchant }
    : undefined;
}
