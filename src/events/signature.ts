/** Signing webhooks by the Standard Webhooks scheme (https://www.standardwebhooks.com), and the secrets it is done with. */
import { createHmac } from "node:crypto";
import type { Entropy } from "../platform/entropy.ts";
import { Secret } from "../platform/secrets.ts";

// As long as the HMAC's output: more would not make it stronger.
const secretBytes = 32;
const marker = "whsec_";

/** A new signing secret. `prefix` names brand and environment and ends in `whsec_`, such as `switchyard_test_whsec_`. */
export function generateSigningSecret(entropy: Pick<Entropy, "randomBytes">, prefix: string): Secret {
  return new Secret(prefix + Buffer.from(entropy.randomBytes(secretBytes)).toString("base64"));
}

/** The three headers that let a receiver check who sent these bytes, and when. */
export type SignatureHeaders = {
  readonly "webhook-id": string;
  readonly "webhook-timestamp": string;
  readonly "webhook-signature": string;
};

/** Signs the exact bytes of a body once with each secret, so that either verifies while a rotation overlaps. */
export function signWebhook(webhook: {
  id: string;
  sentAt: Date;
  body: Uint8Array;
  secrets: readonly Secret[];
}): SignatureHeaders {
  const timestamp = String(Math.floor(webhook.sentAt.getTime() / 1_000));
  const signatures = webhook.secrets.map((secret) => {
    const hmac = createHmac("sha256", keyOf(secret)).update(`${webhook.id}.${timestamp}.`).update(webhook.body);
    return `v1,${hmac.digest("base64")}`;
  });
  return { "webhook-id": webhook.id, "webhook-timestamp": timestamp, "webhook-signature": signatures.join(" ") };
}

function keyOf(secret: Secret): Buffer {
  const text = secret.expose();
  return Buffer.from(text.slice(text.indexOf(marker) + marker.length), "base64");
}
