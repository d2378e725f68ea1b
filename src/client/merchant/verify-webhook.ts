/**
 * Verifies that a webhook is the service's and fresh, and returns its event; by the published Standard Webhooks
 * library.
 */
import { Webhook } from "standardwebhooks";
import { parseObject } from "./rest-error.ts";
import { toWebhookEvent, type WebhookEvent } from "./webhook-event.ts";

/** The reason that a request is not a webhook of the service. */
export type WebhookRefusal = "missing_header" | "outside_tolerance" | "invalid_signature" | "unreadable_body";

/** A request to answer with 400: nothing proves that the service sent it. */
export class WebhookVerificationError extends Error {
  override readonly name = "WebhookVerificationError";
  readonly reason: WebhookRefusal;

  constructor(reason: WebhookRefusal, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** A request as it arrived. */
export type ReceivedWebhook = {
  /** The bytes as they were received, or the text that they are in UTF-8. */
  readonly body: string | Uint8Array;
  /** Headers of Node's request or of a web Request; names in any case. */
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The secret as the service showed it: `<brand>_test_whsec_…`. Both secrets during a rotation. */
  readonly secrets: string | readonly string[];
  /** Maximum age of a webhook, and maximum lead of its sender's clock; at most 300, which is also the default. */
  readonly toleranceSeconds?: number;
};

// The tolerance of the Standard Webhooks library, and of most receivers with it.
const toleranceSecondsMax = 300;
const marker = "whsec_";

/**
 * Returns the event of a genuine webhook. Throws WebhookVerificationError for any other request. Throws TypeError for
 * mistakes in the receiver's own code: a body that is parsed already, or a value that is no signing secret.
 */
export function verifyWebhook(webhook: ReceivedWebhook): WebhookEvent {
  const verifiers = [webhook.secrets].flat().map(verifierOf);
  if (verifiers.length === 0) throw new TypeError("secrets must hold a signing secret.");
  const text = textOf(webhook.body);
  const [id, timestamp, signature] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) =>
    headerOf(webhook.headers, name),
  );
  if (!id || !timestamp || !signature) {
    throw new WebhookVerificationError("missing_header", "A header of the webhook's signature is missing.");
  }
  checkAge(timestamp, webhook.toleranceSeconds ?? toleranceSecondsMax);
  const headers = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature };
  if (text === undefined || !verifiers.some((verifier) => isSigned(verifier, text, headers))) {
    throw new WebhookVerificationError("invalid_signature", "No signature of the webhook is by the signing secret.");
  }
  const body = parseObject(text);
  if (typeof body?.type === "string") return toWebhookEvent({ ...body, type: body.type });
  throw new WebhookVerificationError("unreadable_body", "The webhook's body is not an event.");
}

function verifierOf(secret: string): Webhook {
  const start = typeof secret === "string" ? secret.indexOf(marker) : -1;
  const key = start < 0 ? "" : secret.slice(start + marker.length);
  // The library's error would show a part of an invalid secret.
  if (/^[A-Za-z0-9+/]+={0,2}$/.test(key) && key.length % 4 === 0) return new Webhook(key);
  throw new TypeError(`secrets must be signing secrets: text that ends in ${marker} and base64.`);
}

/** Decodes UTF-8; undefined for other bytes, which the service never signs. */
function textOf(body: string | Uint8Array): string | undefined {
  if (typeof body === "string") return body;
  if (!(body instanceof Uint8Array)) {
    throw new TypeError(
      "Pass the raw body: the bytes or the text as received. A body that a framework has parsed cannot be verified, because printing it again gives other bytes.",
    );
  }
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    return undefined;
  }
}

function headerOf(headers: ReceivedWebhook["headers"], name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const value = Object.entries(headers).find(([given]) => given.toLowerCase() === name)?.[1];
  return typeof value === "string" || value === undefined ? value : value.join(" ");
}

function checkAge(timestamp: string, toleranceSeconds: number): void {
  if (!(toleranceSeconds > 0 && toleranceSeconds <= toleranceSecondsMax)) {
    throw new TypeError(`toleranceSeconds must be at most ${toleranceSecondsMax}.`);
  }
  const ageSeconds = Math.abs(Date.now() / 1_000 - Number(timestamp));
  if (/^\d+$/.test(timestamp) && ageSeconds <= toleranceSeconds) return;
  throw new WebhookVerificationError(
    "outside_tolerance",
    `The webhook's time is more than ${toleranceSeconds} seconds from now.`,
  );
}

function isSigned(verifier: Webhook, text: string, headers: Record<string, string>): boolean {
  try {
    verifier.verify(text, headers, { jsonParse: false });
    return true;
  } catch {
    return false;
  }
}
