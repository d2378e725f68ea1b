/** How an internal service says for which merchant it calls the gRPC port: a claim that it signs anew for every call. */
import type { KeyObject } from "node:crypto";
import { decodeJwt, errors, type JWTPayload, jwtVerify, SignJWT } from "jose";
import type { EnvironmentName, VerificationKey } from "./service-token.ts";

/** For whom a service calls. */
export type InternalServiceClaim = {
  readonly environment: EnvironmentName;
  /** The merchant's public id, `mer_…`. */
  readonly merchant: string;
};

// Says what it is, so that no claim for the vault is ever taken for one.
const type = "internal-service+jwt";
// Long enough for one call and its repeat; what somebody copies is soon worth nothing.
const lifetimeSeconds = 60;
// Two machines' clocks agree to a few seconds.
const clockToleranceSeconds = 5;

const audienceOf = (environment: EnvironmentName) => `edge:${environment}`;

/** A token for one call. `kid` is the name under which the key file knows the service's public key. */
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

/** What a token claims, or undefined when no key of its environment signed it, when it is over, or is to last too long. */
export async function verifyInternalServiceToken(
  keys: readonly VerificationKey[],
  token: string,
): Promise<InternalServiceClaim | undefined> {
  let payload: JWTPayload;
  let key: VerificationKey | undefined;
  try {
    // A service may have one name in both environments, with a key for each: the audience says which is meant.
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
