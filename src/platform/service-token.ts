/**
 * Signed claims between the core and the vault: what they say, and how the vault checks them with public keys only.
 * service-token-signing.ts makes them.
 */
import type { KeyObject } from "node:crypto";
import { errors, type JWTPayload, jwtVerify } from "jose";

/** The environment that signed claims are for; they count in no other. */
export type EnvironmentName = "test" | "live";

/** Lets a page tokenize cards for one session. A secret of the same rank as the client secret. */
export type SessionGrant = {
  readonly environment: EnvironmentName;
  readonly session: string;
  /** The profile of the merchant's publishable key; what the merchant's rate limit is counted under. */
  readonly profile: string;
  readonly origins: readonly string[];
  readonly expiresAt: Date;
};

/** Who may embed the card frame. Not a secret and grants nothing. In test an empty list stands for every origin. */
export type FramePolicy = {
  readonly environment: EnvironmentName;
  readonly origins: readonly string[];
  readonly expiresAt: Date;
};

/** An Ed25519 public key and the environment it speaks for: a test key cannot vouch for anything live. */
export type VerificationKey = {
  readonly kid: string;
  readonly environment: EnvironmentName;
  readonly publicKey: KeyObject;
};

/** The JWS `typ` of each kind, so that one is never taken for another. */
export const claimTypes = {
  serviceToken: "vault-service+jwt",
  sessionGrant: "vault-grant+jwt",
  framePolicy: "vault-policy+jwt",
} as const;

/** Core and vault may be two machines: their clocks agree to a few seconds. */
const clockToleranceSeconds = 5;

/** The audience of a service token. */
export function vaultAudience(environment: EnvironmentName): string {
  return `vault:${environment}`;
}

/** The environment a service token speaks for, or undefined when it is not one of ours, or is over. */
export async function verifyServiceToken(
  keys: readonly VerificationKey[],
  token: string,
): Promise<EnvironmentName | undefined> {
  const verified = await verify(keys, claimTypes.serviceToken, token);
  if (verified === undefined) return undefined;
  const { environment } = verified.key;
  return verified.claims.aud === vaultAudience(environment) ? environment : undefined;
}

/** The grant, or undefined when it is not signed by a key of its own environment, or is over. */
export async function verifySessionGrant(
  keys: readonly VerificationKey[],
  grant: string,
): Promise<SessionGrant | undefined> {
  const verified = await verify(keys, claimTypes.sessionGrant, grant);
  if (verified === undefined) return undefined;
  const { session, profile } = verified.claims;
  const policy = policyOf(verified);
  if (policy === undefined || !isName(session) || !isName(profile)) return undefined;
  return { ...policy, session, profile };
}

/** The policy, or undefined when it is not signed by a key of its own environment, or is over. */
export async function verifyFramePolicy(
  keys: readonly VerificationKey[],
  policy: string,
): Promise<FramePolicy | undefined> {
  const verified = await verify(keys, claimTypes.framePolicy, policy);
  return verified && policyOf(verified);
}

type Verified = { readonly claims: JWTPayload; readonly key: VerificationKey };

async function verify(keys: readonly VerificationKey[], typ: string, jws: string): Promise<Verified | undefined> {
  let key: VerificationKey | undefined;
  try {
    const { payload } = await jwtVerify(
      jws,
      ({ kid }) => {
        key = keys.find((candidate) => candidate.kid === kid);
        if (key === undefined) throw new errors.JWKSNoMatchingKey();
        return key.publicKey;
      },
      { algorithms: ["EdDSA"], typ, requiredClaims: ["exp"], clockTolerance: clockToleranceSeconds },
    );
    return key && { claims: payload, key };
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined;
    throw error;
  }
}

function policyOf({ claims, key }: Verified): FramePolicy | undefined {
  const { environment, origins, exp } = claims;
  if (environment !== key.environment || exp === undefined) return undefined;
  if (!Array.isArray(origins) || !origins.every(isOrigin)) return undefined;
  return { environment: key.environment, origins, expiresAt: new Date(exp * 1000) };
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** Origins end up in a response header, so nothing but a serialized origin passes. */
function isOrigin(value: unknown): value is string {
  return (
    typeof value === "string" && /^https?:\/\//.test(value) && URL.canParse(value) && new URL(value).origin === value
  );
}
