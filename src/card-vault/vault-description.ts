/** Describes the self-hosted vault to the widget at session creation. */

import { encodeId } from "../platform/ids.ts";
import { type SigningKey, signFramePolicy, signSessionGrant } from "../platform/service-token-signing.ts";
import type { NewVaultSession } from "./card-vault.ts";

/** The vault object of mode `self_hosted`: the session's grant, and the address of the card frame. */
export type SelfHostedVaultObject = {
  mode: "self_hosted";
  publishableKey: string;
  profileId: string;
  sdkAuthorization: string;
  sdkUrl: string;
  framePolicy: string;
};

// A page that submits at the last moment still needs the grant while its card is tokenized.
const graceMs = 60_000;

/** Describes the self-hosted vault for each session; signs with the environment's key. */
export function selfHostedVault(vault: { signing: SigningKey; vaultOrigin: string }) {
  const framePolicyOf = rememberingLast(vault.signing);
  return async (session: NewVaultSession): Promise<SelfHostedVaultObject> => {
    const profileId = encodeId("mer", session.merchantId);
    const origins = session.checkoutOrigins;
    const expiresAt = new Date(session.expiresAt.getTime() + graceMs);
    const grant = { session: encodeId("ps", session.sessionId), profile: profileId, origins, expiresAt };
    return {
      mode: "self_hosted",
      publishableKey: session.publishableKey,
      profileId,
      sdkAuthorization: signSessionGrant(vault.signing, grant),
      sdkUrl: `${vault.vaultOrigin}/sdk.js`,
      framePolicy: framePolicyOf({ origins, expiresAt }),
    };
  };
}

/**
 * Signs frame policies and keeps the last one: sessions that a merchant creates within one second have the same pages
 * and expiry, and Ed25519 signs the same claims in the same way.
 */
function rememberingLast(signing: SigningKey) {
  let last = { claims: "", policy: "" };
  return (policy: { origins: readonly string[]; expiresAt: Date }): string => {
    const claims = [Math.floor(policy.expiresAt.getTime() / 1_000), ...policy.origins].join(" ");
    if (claims !== last.claims) last = { claims, policy: signFramePolicy(signing, policy) };
    return last.policy;
  };
}
