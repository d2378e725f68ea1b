/** The self-hosted vault as one environment's card vault: grants are signed here, cards are sent by its gRPC. */
import { vaultGraceMs } from "../../limits.ts";
import { encodeId } from "../../platform/ids.ts";
import type { Logger } from "../../platform/log.ts";
import type { KeyRing } from "../../platform/secrets.ts";
import { type SigningKey, signFramePolicy, signSessionGrant } from "../../platform/service-token-signing.ts";
import type { Tracing } from "../../platform/telemetry.ts";
import type { CardVault, Forwarding } from "../card-vault.ts";
import type { VaultTlsPaths } from "../vault-settings.ts";
import { VaultClient } from "./vault-rpc.ts";

/**
 * The vault sends every row of its destination table, within the attempt's time: the delay that it adds is shorter than
 * the margin of our own timeout.
 */
export const selfHostedForwarding: Forwarding = {
  features: new Set(["form_body", "composed_value", "two_digit_year"]),
  lateMs: 0,
};

/** Opens the vault. No connection is made before its first use. Throws if files of `tls` cannot be used. */
export function openSelfHostedVault(options: {
  /** The origin that browsers use. */
  origin: string;
  /** The origin of the pages that show customers' actions. */
  apiOrigin: string;
  /** `host:port` of its gRPC. */
  address: string;
  /** Without it the connection is not encrypted. */
  tls?: VaultTlsPaths | undefined;
  signing: SigningKey;
  /** Without it the vault is asked about each token. */
  cardToken?: KeyRing | undefined;
  log: Logger;
  tracing?: Tracing | undefined;
}): CardVault {
  const { origin, apiOrigin, signing } = options;
  const client = new VaultClient(options);
  return {
    origin,
    forwarding: selfHostedForwarding,
    opensSessionByCall: false,
    carriesMerchantKey: true,
    openSession: openSessionWith({ signing, origin, apiOrigin }),
    forward: (request) => client.forward(request),
    checkToken: (asked) => client.checkToken(asked),
    forget: (sessionId) => client.forget(sessionId),
    close: () => client.close(),
  };
}

// A page that submits at the last moment still needs the grant while its card is tokenized.
const graceMs = 60_000;

/** Describes the vault to the widget for each session: signs with the environment's key. */
function openSessionWith(vault: { signing: SigningKey; origin: string; apiOrigin: string }): CardVault["openSession"] {
  const framePolicyOf = rememberingLast(vault.signing, vault.apiOrigin);
  return async (session) => {
    const profileId = encodeId("mer", session.merchantId);
    const origins = session.checkoutOrigins;
    const expiresAt = new Date(session.expiresAt.getTime() + graceMs);
    const grant = { session: encodeId("ps", session.sessionId), profile: profileId, origins, expiresAt };
    return {
      mode: "self_hosted",
      publishableKey: session.publishableKey,
      profileId,
      sdkAuthorization: signSessionGrant(vault.signing, grant),
      sdkUrl: `${vault.origin}/sdk.js`,
      // A page that is reloaded while its customer is at the bank needs a frame, even where the session would have expired.
      framePolicy: framePolicyOf({ origins, expiresAt: new Date(session.expiresAt.getTime() + vaultGraceMs) }),
    };
  };
}

/**
 * Signs frame policies and keeps the last one: sessions that a merchant creates within one second have the same pages
 * and expiry, and Ed25519 signs the same claims in the same way.
 */
function rememberingLast(signing: SigningKey, serviceOrigin: string) {
  let last = { claims: "", policy: "" };
  return (policy: { origins: readonly string[]; expiresAt: Date }): string => {
    const claims = [Math.floor(policy.expiresAt.getTime() / 1_000), ...policy.origins].join(" ");
    if (claims !== last.claims) last = { claims, policy: signFramePolicy(signing, { ...policy, serviceOrigin }) };
    return last.policy;
  };
}
