/** Signs what the vault verifies: service tokens, session grants and frame policies. Needs a private key, so the vault never imports it. */
import type { KeyObject } from "node:crypto";
import { SignJWT } from "jose";
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
const serviceTokenLifetime = "20s";

/** A token for the vault's gRPC service; mint one per call. */
export function signServiceToken(key: SigningKey): Promise<string> {
  return new SignJWT()
    .setProtectedHeader({ alg: "EdDSA", kid: key.kid, typ: claimTypes.serviceToken })
    .setAudience(vaultAudience(key.environment))
    .setIssuedAt()
    .setExpirationTime(serviceTokenLifetime)
    .sign(key.privateKey);
}

/** The `sdkAuthorization` of one session, for the key's environment. */
export function signSessionGrant(key: SigningKey, grant: Omit<SessionGrant, "environment">): Promise<string> {
  const { session, profile, origins } = grant;
  return sign(key, claimTypes.sessionGrant, { session, profile, origins }, grant.expiresAt);
}

/** The policy that card frame addresses carry as `?p=`, for the key's environment. */
export function signFramePolicy(key: SigningKey, policy: Omit<FramePolicy, "environment">): Promise<string> {
  return sign(key, claimTypes.framePolicy, { origins: policy.origins }, policy.expiresAt);
}

function sign(key: SigningKey, typ: string, claims: Record<string, unknown>, expiresAt: Date): Promise<string> {
  return new SignJWT({ ...claims, environment: key.environment })
    .setProtectedHeader({ alg: "EdDSA", kid: key.kid, typ })
    .setExpirationTime(expiresAt)
    .sign(key.privateKey);
}
