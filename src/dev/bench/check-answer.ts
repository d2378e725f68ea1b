/** Checks the answer of a creation: the product's own verifiers must accept every contestant's. */
import { createPublicKey } from "node:crypto";
import { readFileSync } from "node:fs";
import { parseKeyFile } from "../../config/server-keys.ts";
import { verifyClientSecret } from "../../core/client-secret.ts";
import { decodeId } from "../../platform/ids.ts";
import { verifyFramePolicy, verifySessionGrant } from "../../platform/service-token.ts";
import type { VerificationKey } from "../../platform/signed-claims.ts";
import { order } from "./load.ts";

type Installation = { readonly keysFile: string; readonly vaultOrigin: string };

/** Throws unless the answer names a session, and its secret, grant and policy are valid. */
export async function requireAnswer(name: string, text: string, installation: Installation): Promise<void> {
  const require = (holds: boolean, what: string) => {
    if (!holds) throw new Error(`${name} answered with ${what} that is not right: ${text}`);
  };
  const answer = JSON.parse(text);
  const keyText = readFileSync(installation.keysFile, "utf8");
  const { clientSecret, signing } = parseKeyFile(keyText, "test");
  const verification: VerificationKey[] = [
    { kid: signing.kid, environment: "test", publicKey: createPublicKey(signing.privateKey) },
  ];
  require(decodeId("ps", answer.sessionId) !== undefined, "a session id");
  require(verifyClientSecret(clientSecret, answer.clientSecret) ===
    decodeId("ps", answer.sessionId), "a client secret");
  require(answer.status === "CREATED", "a status");
  require(Date.parse(answer.expiresAt) > Date.now(), "an expiry");
  require(Number(answer.amountMinor) === order.amountMinor && answer.currency === order.currency, "an amount");
  require(answer.orderRef.length > 0, "an order reference");
  const grant = verifySessionGrant(verification, answer.vault.sdkAuthorization);
  require(grant?.session === answer.sessionId && grant?.profile === answer.vault.profileId, "a grant");
  require(verifyFramePolicy(verification, answer.vault.framePolicy) !== undefined, "a frame policy");
  require(answer.vault.mode === "self_hosted" &&
    answer.vault.sdkUrl === `${installation.vaultOrigin}/sdk.js`, "a vault");
}
