/** Signs webhooks by the Standard Webhooks scheme (https://www.standardwebhooks.com). */
import { createHmac, createSecretKey, type KeyObject } from "node:crypto";
import type { Secret } from "../platform/secrets.ts";

/** The three headers by which a receiver verifies the sender and the time of a body. */
export type SignatureHeaders = {
  readonly "webhook-id": string;
  readonly "webhook-timestamp": string;
  readonly "webhook-signature": string;
};

/** Signs the exact bytes of a body with each secret: both verify during a rotation. */
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

// The brand and environment before it are for people; the scheme's key begins after it.
const marker = "whsec_";

function keyOf(secret: Secret): KeyObject {
  const text = secret.expose();
  return createSecretKey(Buffer.from(text.slice(text.indexOf(marker) + marker.length), "base64"));
}
