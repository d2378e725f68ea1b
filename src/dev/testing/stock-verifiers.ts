/** Both published verifiers of Standard Webhooks, which check received webhooks: unchanged, and tampered with. */
import type { IncomingHttpHeaders } from "node:http";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import { systemRuntime } from "../../platform/runtime.ts";

export type ShownWebhook = { readonly headers: IncomingHttpHeaders; readonly body: Buffer };

type Signed = { id: string; timestamp: string; signature: string; body: Buffer };
type Tampering = (signed: Signed, secret: string) => Signed & { secret?: string };

const verifiers = { standardwebhooks: StandardWebhook, svix: SvixWebhook };

// Beyond the tolerance of both libraries, which is 300 seconds.
const staleMs = 310_000;

const tamperings: Readonly<Record<string, Tampering>> = {
  "a body with one bit changed": (signed) => ({ ...signed, body: flipOneBit(signed.body) }),
  "a body with a byte more": (signed) => ({ ...signed, body: Buffer.concat([signed.body, Buffer.from(" ")]) }),
  "another id": (signed) => ({ ...signed, id: `${signed.id}0` }),
  "another time": (signed) => ({ ...signed, timestamp: String(Number(signed.timestamp) - 1) }),
  "another signature": (signed) => ({ ...signed, signature: signed.signature.replaceAll(/,(.)/g, flipFirst) }),
  "no signature of version 1": (signed) => ({ ...signed, signature: signed.signature.replaceAll("v1,", "v2,") }),
  "another secret": (signed) => ({
    ...signed,
    secret: `whsec_${Buffer.from(systemRuntime.randomBytes(32)).toString("base64")}`,
  }),
  "an old time, signed": (signed, secret) => signedAt(signed, secret, -staleMs),
  "a time to come, signed": (signed, secret) => signedAt(signed, secret, staleMs),
};

/** The names of the changes that must make verifiers refuse a webhook. */
export const tamperingNames = Object.keys(tamperings);

/**
 * Returns the objections of the stock verifiers to a webhook, ideally none: each accepts it with each of the secrets in
 * force, and refuses it with any change. Secrets are in the merchants' format, with the brand.
 */
export function objectionsTo(
  { headers, body }: ShownWebhook,
  secrets: readonly string[],
  names: readonly string[] = tamperingNames,
): string[] {
  const [id, timestamp, signature] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) =>
    String(headers[name]),
  );
  const signed = { id: id!, timestamp: timestamp!, signature: signature!, body };
  const objections = secrets.length > 0 ? [] : [`${id}: no secret is known for it`];
  for (const whole of secrets) {
    const secret = withoutBrand(whole);
    for (const name of Object.keys(verifiers) as (keyof typeof verifiers)[]) {
      if (!isAccepted(name, signed, secret)) objections.push(`${id}: ${name} refuses it`);
      for (const tampering of names) {
        const { secret: other = secret, ...tampered } = tamperings[tampering]!(signed, secret);
        if (isAccepted(name, tampered, other)) objections.push(`${id}: ${name} accepts it with ${tampering}`);
      }
    }
  }
  return objections;
}

/** The line of the webhook guide: the libraries know secrets from `whsec_` on. */
function withoutBrand(secret: string): string {
  return secret.slice(secret.indexOf("whsec_"));
}

function isAccepted(name: keyof typeof verifiers, { body, ...signed }: Signed, secret: string): boolean {
  const headers = {
    "webhook-id": signed.id,
    "webhook-timestamp": signed.timestamp,
    "webhook-signature": signed.signature,
  };
  // Each refusal is an error whose stack a library formats, which takes ten times as long as the verification.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    new verifiers[name](secret).verify(body, headers);
    return true;
  } catch {
    return false;
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

function flipOneBit(body: Buffer): Buffer {
  const flipped = Buffer.from(body);
  const middle = Math.floor(flipped.length / 2);
  flipped[middle]! ^= 1;
  return flipped;
}

function flipFirst(_: string, first: string): string {
  return `,${first === "A" ? "B" : "A"}`;
}

function signedAt(signed: Signed, secret: string, laterMs: number): Signed {
  const moment = new Date(Date.now() + laterMs);
  const signature = new StandardWebhook(secret).sign(signed.id, moment, signed.body);
  return { ...signed, signature, timestamp: String(Math.floor(moment.getTime() / 1_000)) };
}
