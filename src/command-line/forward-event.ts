/** Brings one event to a server on the developer's machine, signed as a webhook. Knows nothing of where events come from. */
import { lookup } from "node:dns/promises";
import { setTimeout as pause } from "node:timers/promises";
import type { EventView } from "../client/dashboard-client.ts";
import { sendWebhook } from "../events/deliver.ts";
import { Egress } from "../events/egress.ts";
import type { Try } from "../events/record-delivery.ts";
import { systemEntropy } from "../platform/entropy.ts";
import { hmacSha256, Secret } from "../platform/secrets.ts";

// The developer says where to on their own machine, and no server of ours posts: nothing needs guarding.
const anywhere = { httpsOnly: false, ports: undefined, openings: ["0.0.0.0/0", "::/0"] };
// A server that is being restarted after an edit is back within seconds. Then the event is let go, and the next one tried.
const pausesMs = [1_000, 2_000, 4_000, 8_000];

/** Where to and how signed. */
export type ForwardContext = {
  readonly egress: Egress;
  readonly url: string;
  readonly secret: Secret;
  readonly closing: AbortSignal;
  /** Nobody listens there; it is tried again. */
  readonly onWait: (because: string) => void;
};

/** The way out; close it at the end. Names are what the developer's machine takes them for, its hosts file included. */
export function openForwardEgress(): Egress {
  return new Egress(anywhere, { findAddresses: (hostname) => lookup(hostname, { all: true }) });
}

/**
 * A signing secret that stays the same for an operator and a merchant, so that it is put into a configuration once, and
 * that nothing needs to store. It signs nothing but what `listen` forwards.
 */
export function deriveListenSecret(operatorToken: Secret, options: { prefix: string; merchantId: string }): Secret {
  const key = hmacSha256(Buffer.from(operatorToken.expose()), `listen\n${options.merchantId}`);
  return new Secret(options.prefix + key.toString("base64"));
}

/** Posts an event with the bytes and the id of its webhooks. Tries again while nobody listens; any answer is final. */
export async function forwardEvent(context: ForwardContext, { eventId = "", body = "" }: EventView): Promise<Try> {
  const { egress, url, secret, closing } = context;
  const webhook = { url, eventId, body: Buffer.from(body), secrets: [secret] };
  for (const pauseMs of [...pausesMs, undefined]) {
    const tried = await sendWebhook({ egress, entropy: systemEntropy }, webhook);
    const isAbsent = tried.kind === "no_answer" && /^connection_/.test(tried.because);
    if (!isAbsent || pauseMs === undefined || closing.aborted) return tried;
    context.onWait(tried.because);
    await pause(pauseMs, undefined, { signal: closing }).catch(() => {});
  }
  throw new Error("the last try has no pause after it");
}
