/** Signs what the vault verifies: service tokens, session grants and frame policies. Needs a private key, so the vault never imports it. */
import { type KeyObject, sign } from "node:crypto";
import {
  claimTypes,
  type EnvironmentName,
  type FramePolicy,
  type SessionGrant,
  vaultAudience,
} from "./service-token.ts";

/** An Ed25519 private key of one environment. */
export type SigningKey = {
  readonly kid: string;
  readonly environment: EnvironmentName;
  readonly privateKey: KeyObject;
};

// Also the last moment at which a vault that stood still may yet send an authorize: within twice the usual wait for a
// gateway, so before the attempt's horizon. The clocks of both machines have to agree within it.
const serviceTokenLifetimeSeconds = 20;

/** A token for the vault's gRPC service; mint one per call. */
export function signServiceToken(key: SigningKey): string {
  const issuedAt = secondsOf(new Date());
  const claims = { aud: vaultAudience(key.environment), iat: issuedAt, exp: issuedAt + serviceTokenLifetimeSeconds };
  return signClaims(key, claimTypes.serviceToken, claims);
}

/** The `sdkAuthorization` of one session, for the key's environment. */
export function signSessionGrant(key: SigningKey, grant: Omit<SessionGrant, "environment">): string {
  const { session, profile, origins, expiresAt } = grant;
  const claims = { session, profile, origins, environment: key.environment, exp: secondsOf(expiresAt) };
  return signClaims(key, claimTypes.sessionGrant, claims);
}

/** The policy that card frame addresses carry as `?p=`, for the key's environment. */
export function signFramePolicy(key: SigningKey, { origins, expiresAt }: Omit<FramePolicy, "environment">): string {
  const claims = { origins, environment: key.environment, exp: secondsOf(expiresAt) };
  return signClaims(key, claimTypes.framePolicy, claims);
}

/**
 * A JWS in compact form (RFC 7515, 3.1; Ed25519 by RFC 8037, 3.1). Signed on this thread: that takes some 25 µs, and a
 * third of what it costs to have it done on another one.
 */
function signClaims(key: SigningKey, typ: string, claims: object): string {
  const input = `${base64url({ alg: "EdDSA", kid: key.kid, typ })}.${base64url(claims)}`;
  return `${input}.${sign(null, Buffer.from(input), key.privateKey).toString("base64url")}`;
}

function base64url(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString("base64url");
}

function secondsOf(moment: Date): number {
  return Math.floor(moment.getTime() / 1_000);
}
