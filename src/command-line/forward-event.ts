/** Delivers one event to a server on the developer's machine, signed as a webhook. Its caller reads the events. */
import { lookup } from "node:dns/promises";
import { setTimeout as pause } from "node:timers/promises";
import { sendWebhook } from "../events/deliver.ts";
import { Egress } from "../events/egress.ts";
import type { Attempt } from "../events/record-delivery.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { hmacSha256, Secret } from "../platform/secrets.ts";

// The developer chooses the address on their own machine, and no server of ours posts: no guard is needed.
const anywhere = { httpsOnly: false, ports: undefined, openings: ["0.0.0.0/0", "::/0"] };
// A server that restarts after an edit is back within seconds. After that the event is dropped, and the next one
// sent.
const pausesMs = [1_000, 2_000, 4_000, 8_000];

export type ForwardContext = {
  readonly egress: Egress;
  readonly url: string;
  readonly secret: Secret;
  readonly closing: AbortSignal;
  /** Called when nothing listens at the destination, before the event is sent again. */
  readonly onWait: (reason: string) => void;
};

/** Opens the HTTP client; close it at the end. Names resolve as on the developer's machine, its hosts file included. */
export function openForwardEgress(): Egress {
  return new Egress(anywhere, { findAddresses: (hostname) => lookup(hostname, { all: true }) });
}

/** Derives a signing secret that stays the same for a key: it is configured once, and nothing stores it. */
export function deriveListenSecret(key: Secret, prefix: string): Secret {
  return new Secret(prefix + hmacSha256(Buffer.from(key.expose()), "listen").toString("base64"));
}

/** Posts an event with the bytes and the id of its webhooks. Retries while nothing listens; any response is final. */
export async function forwardEvent(
  context: ForwardContext,
  { eventId, body }: { readonly eventId: string; readonly body: string },
): Promise<Attempt> {
  const { egress, url, secret, closing } = context;
  const webhook = { url, eventId, body: Buffer.from(body), secrets: [secret] };
  for (const pauseMs of [...pausesMs, undefined]) {
    const attempt = await sendWebhook({ egress, runtime: systemRuntime }, webhook);
    const isAbsent = attempt.type === "noAnswer" && /^connection_/.test(attempt.reason);
    if (!isAbsent || pauseMs === undefined || closing.aborted) return attempt;
    context.onWait(attempt.reason);
    await pause(pauseMs, undefined, { signal: closing }).catch(() => {});
  }
  throw new Error("no pause follows the last attempt");
}
