/**
 * Signs the claims that the vault verifies: service tokens, session grants and frame policies. Needs a private key, so
 * the vault never imports it.
 */
import { type KeyObject, sign } from "node:crypto";
import {
  claimTypes,
  type FramePolicy,
  type SessionGrant,
  serviceTokenLifetimeSeconds,
  vaultAudience,
} from "./service-token.ts";
import type { EnvironmentName } from "./signed-claims.ts";

/** An Ed25519 private key of one environment. */
export type SigningKey = {
  readonly kid: string;
  readonly environment: EnvironmentName;
  readonly privateKey: KeyObject;
};

/** Time for which calls share a service token: the vault verifies it once. */
const serviceTokenUseMs = 1_000;

/** Returns a function that gives each call its service token, signing a new one every second. */
export function createServiceTokens(key: SigningKey): () => string {
  let signedAt = Number.NEGATIVE_INFINITY;
  let token = "";
  return () => {
    const now = Date.now();
    // A clock that was set back would make the token one of the future.
    if (now < signedAt || now - signedAt >= serviceTokenUseMs) {
      token = signServiceToken(key);
      signedAt = now;
    }
    return token;
  };
}

/** Signs a token for the vault's gRPC service. */
function signServiceToken(key: SigningKey): string {
  const issuedAt = secondsOf(new Date());
  const claims = { aud: vaultAudience(key.environment), iat: issuedAt, exp: issuedAt + serviceTokenLifetimeSeconds };
  return signClaims(key, claimTypes.serviceToken, claims);
}

/** Signs the `sdkAuthorization` of one session, for the key's environment. */
export function signSessionGrant(key: SigningKey, grant: Omit<SessionGrant, "environment">): string {
  const { session, profile, origins, expiresAt, order } = grant;
  const ofOrder = order && { order: order.hash, amount: order.amountMinor, currency: order.currency };
  const claims = { session, profile, origins, environment: key.environment, exp: secondsOf(expiresAt), ...ofOrder };
  return signClaims(key, claimTypes.sessionGrant, claims);
}

/** Signs the policy that addresses of the vault's frames carry as `?p=`, for the key's environment. */
export function signFramePolicy(
  key: SigningKey,
  { origins, serviceOrigin, expiresAt }: Omit<FramePolicy, "environment">,
): string {
  const claims = { origins, service: serviceOrigin, environment: key.environment, exp: secondsOf(expiresAt) };
  return signClaims(key, claimTypes.framePolicy, claims);
}

/**
 * Returns a JWS in compact form (RFC 7515, 3.1; Ed25519 by RFC 8037, 3.1). Signed on this thread: that takes some 25
 * µs, a third of the cost of using another one.
 */
export function signClaims(key: Omit<SigningKey, "environment">, typ: string, claims: object): string {
  const input = `${base64url({ alg: "EdDSA", kid: key.kid, typ })}.${base64url(claims)}`;
  return `${input}.${sign(null, Buffer.from(input), key.privateKey).toString("base64url")}`;
}

function base64url(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString("base64url");
}

export function secondsOf(moment: Date): number {
  return Math.floor(moment.getTime() / 1_000);
}
