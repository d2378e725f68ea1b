/**
 * Signed claims between the core and the vault: their content, and the vault's checks with public keys only.
 * service-token-signing.ts signs them.
 */
import type { KeyObject } from "node:crypto";
import { errors, type JWTPayload, type JWTVerifyOptions, jwtVerify } from "jose";
import { isPageOrigin } from "./page-origin.ts";

/** The environment of signed claims; they are valid in no other. */
export type EnvironmentName = "test" | "live";

/** Lets a page tokenize cards for one session. As sensitive as the client secret. */
export type SessionGrant = {
  readonly environment: EnvironmentName;
  readonly session: string;
  /** The profile of the merchant's publishable key, which counts against the merchant's rate limit. */
  readonly profile: string;
  readonly origins: readonly string[];
  readonly expiresAt: Date;
};

/**
 * The origins that may embed the vault's frames. Not a secret and grants nothing. In test an empty list means every
 * origin.
 */
export type FramePolicy = {
  readonly environment: EnvironmentName;
  readonly origins: readonly string[];
  /** The origin of the service, whose pages show customers' actions. */
  readonly serviceOrigin: string;
  readonly expiresAt: Date;
};

/** An Ed25519 public key and its environment: a test key cannot sign anything for live. */
export type VerificationKey = {
  readonly kid: string;
  readonly environment: EnvironmentName;
  readonly publicKey: KeyObject;
};

/** The JWS `typ` of each kind, so that one is never accepted as another. */
export const claimTypes = {
  serviceToken: "vault-service+jwt",
  sessionGrant: "vault-grant+jwt",
  framePolicy: "vault-policy+jwt",
} as const;

/** Allows for clocks of core and vault that differ by a few seconds. */
const clockToleranceSeconds = 5;

/**
 * Time for which a service token is valid after it is signed, whatever expiry it names. It also bounds the time at
 * which a suspended vault may still send an authorize: within twice the default wait for a gateway, and so before the
 * attempt's `latestExecutionAt`. A caller uses a token for a second (service-token-signing.ts), so a call's token is
 * signed at most so long before it: it ends earlier than one signed for the call would, and never later. The clocks of
 * both machines have to agree within the rest.
 */
export const serviceTokenLifetimeSeconds = 20;

/** Returns the audience of a service token. */
export function vaultAudience(environment: EnvironmentName): string {
  return `vault:${environment}`;
}

/** A service token's environment and expiry, or why it is not valid. */
export type ServiceTokenCheck = ValidToken | ({ readonly type: "refused" } & TokenRefusal);

type ValidToken = { readonly type: "valid"; readonly environment: EnvironmentName; readonly endsAt: Date };

/** The reason why a service token is not valid, which contains nothing of it. */
export type TokenRefusal = { readonly kind: "clock" | "unknown_key" | "malformed"; readonly reason: string };

async function verifyServiceToken(keys: readonly VerificationKey[], token: string): Promise<ServiceTokenCheck> {
  const verified = await verify(keys, claimTypes.serviceToken, token, { maxTokenAge: serviceTokenLifetimeSeconds });
  if (verified instanceof Error) return { type: "refused", ...refusalOf(verified) };
  const { environment } = verified.key;
  // Both are present: verify() requires them.
  const { aud, iat, exp } = verified.claims as Required<JWTPayload>;
  if (aud !== vaultAudience(environment)) {
    return { type: "refused", kind: "unknown_key", reason: "it is for another environment than its key's" };
  }
  const end = Math.min(exp, iat + serviceTokenLifetimeSeconds) + clockToleranceSeconds;
  return { type: "valid", environment, endsAt: new Date(end * 1_000) };
}

// Callers sign a new one every second: a token for each of more processes than an installation has.
const rememberedTokensMax = 256;

/**
 * Verifies service tokens with the keys of this process, and remembers the valid ones until they end: a caller uses one
 * for several calls. A caller without a key adds nothing to its memory.
 */
export class ServiceTokenVerifier {
  readonly #keys: readonly VerificationKey[];
  /** In the order of their verification. */
  readonly #valid = new Map<string, { readonly check: ValidToken; readonly verifiedAt: number }>();

  constructor(keys: readonly VerificationKey[]) {
    this.#keys = keys;
  }

  /** Checks a service token: it is valid until `endsAt` by this machine's clock, or refused. */
  async verify(token: string): Promise<ServiceTokenCheck> {
    const now = Date.now();
    const known = this.#valid.get(token);
    // If the clock was set back since, the token may lie in its future now.
    if (known !== undefined && known.verifiedAt <= now && now < known.check.endsAt.getTime()) return known.check;
    const check = await verifyServiceToken(this.#keys, token);
    if (check.type === "valid") this.#remember(token, check, now);
    return check;
  }

  #remember(token: string, check: ValidToken, verifiedAt: number): void {
    this.#valid.delete(token);
    for (const [oldest, { check: its }] of this.#valid) {
      if (this.#valid.size < rememberedTokensMax && verifiedAt < its.endsAt.getTime()) break;
      this.#valid.delete(oldest);
    }
    this.#valid.set(token, { check, verifiedAt });
  }
}

function refusalOf(error: Error): TokenRefusal {
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed) {
    return { kind: "unknown_key", reason: "no key that the vault knows has signed it" };
  }
  // Known only after the signature was verified, so the times are ours.
  const isTimed = error instanceof errors.JWTExpired || error instanceof errors.JWTClaimValidationFailed;
  const issuedAt = isTimed && error.reason === "check_failed" && error.claim !== "typ" ? error.payload.iat : undefined;
  if (issuedAt === undefined) return { kind: "malformed", reason: "it is no service token" };
  const age = Math.round(Date.now() / 1_000 - issuedAt);
  const made = age < 0 ? `${-age} s ahead of` : `${age} s behind`;
  const reason = `it was made ${made} this machine's clock; it counts for ${serviceTokenLifetimeSeconds} s, and clocks may differ by ${clockToleranceSeconds} s`;
  return { kind: "clock", reason };
}

/** Returns the grant, or undefined if no key of its own environment signed it, or if it has expired. */
export async function verifySessionGrant(
  keys: readonly VerificationKey[],
  grant: string,
): Promise<SessionGrant | undefined> {
  const verified = await verify(keys, claimTypes.sessionGrant, grant);
  if (verified instanceof Error) return undefined;
  const { session, profile } = verified.claims;
  const policy = policyOf(verified);
  if (policy === undefined || !isName(session) || !isName(profile)) return undefined;
  return { ...policy, session, profile };
}

/** Returns the policy, or undefined if no key of its own environment signed it, or if it has expired. */
export async function verifyFramePolicy(
  keys: readonly VerificationKey[],
  policy: string,
): Promise<FramePolicy | undefined> {
  const verified = await verify(keys, claimTypes.framePolicy, policy);
  if (verified instanceof Error) return undefined;
  const [found, serviceOrigin] = [policyOf(verified), verified.claims.service];
  return found && isPageOrigin(serviceOrigin) ? { ...found, serviceOrigin } : undefined;
}

type Verified = { readonly claims: JWTPayload; readonly key: VerificationKey };

async function verify(
  keys: readonly VerificationKey[],
  typ: string,
  jws: string,
  more: Pick<JWTVerifyOptions, "maxTokenAge"> = {},
): Promise<Verified | Error> {
  let key: VerificationKey | undefined;
  try {
    const { payload } = await jwtVerify(
      jws,
      ({ kid }) => {
        key = keys.find((candidate) => candidate.kid === kid);
        if (key === undefined) throw new errors.JWKSNoMatchingKey();
        return key.publicKey;
      },
      { algorithms: ["EdDSA"], typ, requiredClaims: ["exp"], clockTolerance: clockToleranceSeconds, ...more },
    );
    return { claims: payload, key: key! };
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof TypeError) return error;
    throw error;
  }
}

function policyOf({ claims, key }: Verified): Omit<FramePolicy, "serviceOrigin"> | undefined {
  const { environment, origins, exp } = claims;
  if (environment !== key.environment || exp === undefined) return undefined;
  if (!Array.isArray(origins) || !origins.every(isPageOrigin)) return undefined;
  return { environment: key.environment, origins, expiresAt: new Date(exp * 1000) };
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
