/**
 * Signed claims between the core and the vault: their content, and the vault's checks with public keys only.
 * service-token-signing.ts signs them.
 */
import { isPageOrigin } from "./page-origin.ts";
import {
  clockToleranceSeconds,
  type EnvironmentName,
  type VerificationKey,
  type VerifiedClaims,
  verifyClaims,
} from "./signed-claims.ts";
import type { WalletOrder } from "./wallets.ts";

/** Lets a page tokenize cards for one session. As sensitive as the client secret. */
export type SessionGrant = {
  readonly environment: EnvironmentName;
  readonly session: string;
  /** The profile of the merchant's publishable key, which counts against the merchant's rate limit. */
  readonly profile: string;
  readonly origins: readonly string[];
  readonly expiresAt: Date;
  /** The order that a wallet may pay; without it the grant is for cards only. */
  readonly order?: WalletOrder | undefined;
};

/** The origins that may embed the vault's frames. In test an empty list means every origin. */
export type FramePolicy = {
  readonly environment: EnvironmentName;
  readonly origins: readonly string[];
  /** The origin of the service, whose pages show customers' actions. */
  readonly serviceOrigin: string;
  readonly expiresAt: Date;
};

/** The JWS `typ` of each kind, so that one is never accepted as another. */
export const claimTypes = {
  serviceToken: "vault-service+jwt",
  sessionGrant: "vault-grant+jwt",
  framePolicy: "vault-policy+jwt",
} as const;

/**
 * Time for which a service token is valid after it is signed, whatever expiry it names. It also bounds the time at
 * which a suspended vault may still send an authorize: within twice the default wait for a gateway, and so before the
 * attempt's `latestExecutionAt`. A caller uses a token for a second (service-token-signing.ts), so a call's token is
 * signed at most so long before it: it ends earlier than one signed for the call would, and never later. The clocks of
 * both machines have to agree within the rest.
 */
export const serviceTokenLifetimeSeconds = 20;

export function vaultAudience(environment: EnvironmentName): string {
  return `vault:${environment}`;
}

/** A service token's environment and expiry, or why it is not valid. */
export type ServiceTokenCheck = ValidToken | ({ readonly type: "refused" } & TokenRefusal);

type ValidToken = { readonly type: "valid"; readonly environment: EnvironmentName; readonly endsAt: Date };

/** The reason why a service token is not valid, which contains nothing of it. */
export type TokenRefusal = { readonly kind: "clock" | "unknown_key" | "malformed"; readonly reason: string };

function verifyServiceToken(keys: readonly VerificationKey[], token: string): ServiceTokenCheck {
  const ageMaxSeconds = serviceTokenLifetimeSeconds;
  const verified = verifyClaims(token, { keys, typ: claimTypes.serviceToken, ageMaxSeconds });
  if (verified.refused !== undefined) return { type: "refused", ...refusalOf(verified) };
  const { environment } = verified.key;
  const { aud, iat = 0, exp } = verified.claims;
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
  /** The valid tokens in the order of their verification. */
  readonly #valid = new Map<string, { readonly check: ValidToken; readonly verifiedAt: number }>();

  constructor(keys: readonly VerificationKey[]) {
    this.#keys = keys;
  }

  /** Checks a service token: it is valid until `endsAt` by this machine's clock, or refused. */
  verify(token: string): ServiceTokenCheck {
    const now = Date.now();
    const known = this.#valid.get(token);
    // If the clock was set back since, the token may lie in its future now.
    if (known !== undefined && known.verifiedAt <= now && now < known.check.endsAt.getTime()) return known.check;
    const check = verifyServiceToken(this.#keys, token);
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

function refusalOf(verified: Exclude<VerifiedClaims, { refused?: undefined }>): TokenRefusal {
  if (verified.refused === "unknown_key") {
    return { kind: "unknown_key", reason: "no key that the vault knows has signed it" };
  }
  if (verified.issuedAt === undefined) {
    return { kind: "malformed", reason: "it is no service token" };
  }
  const age = Math.round(Date.now() / 1_000 - verified.issuedAt);
  const made = age < 0 ? `${-age} s ahead of` : `${age} s behind`;
  const reason = `it was made ${made} this machine's clock; it counts for ${serviceTokenLifetimeSeconds} s, and clocks may differ by ${clockToleranceSeconds} s`;
  return { kind: "clock", reason };
}

/** Returns the grant, or undefined if no key of its environment signed it, or if it has expired. */
export function verifySessionGrant(keys: readonly VerificationKey[], grant: string): SessionGrant | undefined {
  const verified = verifyClaims(grant, { keys, typ: claimTypes.sessionGrant });
  if (verified.refused !== undefined) return undefined;
  const { session, profile } = verified.claims;
  const policy = policyOf(verified);
  if (policy === undefined || !isName(session) || !isName(profile)) return undefined;
  return { ...policy, session, profile, order: orderOf(verified) };
}

function orderOf({ claims }: Verified): WalletOrder | undefined {
  const { order: hash, amount: amountMinor, currency } = claims;
  if (!isName(hash) || !isName(currency) || !Number.isSafeInteger(amountMinor)) return undefined;
  return { hash, amountMinor: amountMinor as number, currency };
}

/** Returns the policy, or undefined if no key of its environment signed it, or if it has expired. */
export function verifyFramePolicy(keys: readonly VerificationKey[], policy: string): FramePolicy | undefined {
  const verified = verifyClaims(policy, { keys, typ: claimTypes.framePolicy });
  if (verified.refused !== undefined) return undefined;
  const [found, serviceOrigin] = [policyOf(verified), verified.claims.service];
  return found && isPageOrigin(serviceOrigin) ? { ...found, serviceOrigin } : undefined;
}

type Verified = Extract<VerifiedClaims, { refused?: undefined }>;

function policyOf({ claims, key }: Verified): Omit<FramePolicy, "serviceOrigin"> | undefined {
  const { environment, origins, exp } = claims;
  if (environment !== key.environment) return undefined;
  if (!Array.isArray(origins) || !origins.every(isPageOrigin)) return undefined;
  return { environment: key.environment, origins, expiresAt: new Date(exp * 1000) };
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
