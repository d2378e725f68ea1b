/** One webhook try: sign, post, decide, record. What is due and who may try it is claim-deliveries.ts's business. */
import type { Database } from "../platform/database.ts";
import type { Entropy } from "../platform/entropy.ts";
import { encodeId } from "../platform/ids.ts";
import type { Logger } from "../platform/log.ts";
import type { Secret } from "../platform/secrets.ts";
import { type SpanOptions, type Tracing, untraced } from "../platform/telemetry.ts";
import { excerptAnswer } from "./answer-excerpt.ts";
import { type ClaimedDelivery, claimDeliveries } from "./claim-deliveries.ts";
import { classifyNoAnswer, type Egress } from "./egress.ts";
import type { RecordedTry, Try, TryVerdict } from "./record-delivery.ts";
import { parseRetryAfterMs, planNextTry } from "./retry-schedule.ts";
import { outcomeOf, type SeenTry } from "./seen-try.ts";
import { signWebhook } from "./signature.ts";
import { openSigningSecrets, type SealingContext } from "./signing-secrets.ts";
import { TryRecorder } from "./try-recorder.ts";

/** What one webhook try needs. */
export type DeliverContext = SealingContext & {
  readonly database: Database;
  readonly entropy: Entropy;
  readonly egress: Egress;
  readonly log: Pick<Logger, "warn" | "error">;
  /** Is told of each recorded try, for figures. Must not throw. */
  readonly onTry?: (seen: SeenTry) => void;
  readonly tracing?: Tracing | undefined;
};

/** What became of a claimed delivery. */
export type DeliveryResult = TryVerdict | { readonly kind: "lease_lost" };

/** An endpoint this slow is one to send less at once. */
export const slowMs = 5_000;

/** Signs and posts the bytes once. A failure to get an answer is an answer, too; nothing here throws for the network. */
export async function sendWebhook(
  context: Pick<DeliverContext, "egress" | "entropy">,
  webhook: { url: string; eventId: string; body: Uint8Array; secrets: readonly Secret[] },
): Promise<Try> {
  const startedAt = context.entropy.now();
  const started = performance.now();
  const timing = () => ({ startedAt, durationMs: Math.round(performance.now() - started) });
  const headers = {
    "content-type": "application/json",
    "user-agent": "Webhooks/1 (+https://www.standardwebhooks.com)",
    ...signWebhook({ id: webhook.eventId, sentAt: startedAt, body: webhook.body, secrets: webhook.secrets }),
  };
  try {
    const { statusCode, retryAfter, bodyStart } = await context.egress.post(webhook.url, headers, webhook.body);
    const retryAfterMs = parseRetryAfterMs({ statusCode, retryAfter, now: context.entropy.now() });
    return {
      ...timing(),
      kind: "answered",
      statusCode,
      answer: excerptAnswer(bodyStart),
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    };
  } catch (error) {
    return { ...timing(), kind: "no_answer", because: classifyNoAnswer(error) };
  }
}

/** Whether the endpoint took the webhook: any 2xx, and nothing else. */
export function isTaken(tried: Try): boolean {
  return tried.kind === "answered" && tried.statusCode >= 200 && tried.statusCode < 300;
}

/**
 * Tries a claimed delivery and records the result under its lease. A process that dies between the two has sent
 * something that it does not remember: the same event is then sent again under the same id. Deliveries that share a
 * recorder are recorded together.
 */
export async function deliver(
  context: DeliverContext,
  claimed: ClaimedDelivery,
  recorder: Pick<TryRecorder, "record"> = new TryRecorder(context.database),
): Promise<DeliveryResult> {
  const tried = await (context.tracing ?? untraced).span("webhook.deliver", spanOf(claimed), async (span) => {
    const sent = await sendWebhook(context, {
      url: claimed.url,
      eventId: encodeId("evt", claimed.event_id),
      body: claimed.body,
      secrets: openSigningSecrets(context, claimed.endpoint_id, claimed),
    });
    span.tell({ outcome: outcomeOf(sent), httpStatus: sent.kind === "answered" ? sent.statusCode : undefined });
    return sent;
  });
  const verdict = judgeTry(context.entropy, tried, claimed.tries + 1);
  const written = await recorder.record(claimed, { ...tried, id: context.entropy.uuid() }, verdict);
  const endpoint = encodeId("we", claimed.endpoint_id);
  if (written.disabledBecause !== null) {
    context.log.warn({ endpoint, because: written.disabledBecause }, "a webhook endpoint was disabled");
  }
  if (!written.recorded) return { kind: "lease_lost" };
  context.onTry?.(seenTry(claimed, { tried, verdict, written }));
  return verdict;
}

function spanOf(claimed: ClaimedDelivery): SpanOptions {
  const facts = () => ({
    sessionId: encodeId("ps", claimed.session_id),
    eventId: encodeId("evt", claimed.event_id),
    endpointId: encodeId("we", claimed.endpoint_id),
    tries: claimed.tries + 1,
  });
  return { of: { session: claimed.session_id, event: claimed.event_id }, facts, kind: "client" };
}

function seenTry(
  claimed: ClaimedDelivery,
  { tried, verdict, written }: { tried: Try; verdict: TryVerdict; written: RecordedTry },
): SeenTry {
  return {
    outcome: outcomeOf(tried),
    endpointClass: claimed.is_probe ? "failing" : "healthy",
    durationMs: tried.durationMs,
    takenAfterMs: written.takenAt === null ? undefined : written.takenAt.getTime() - claimed.told_at.getTime(),
    exhausted: verdict.kind === "failed" && verdict.next.kind === "exhausted",
    disabledBecause: written.disabledBecause,
  };
}

function judgeTry(entropy: Entropy, tried: Try, tries: number): TryVerdict {
  if (isTaken(tried)) return { kind: "succeeded", slow: tried.durationMs > slowMs };
  const answered = tried.kind === "answered" ? tried : undefined;
  return {
    kind: "failed",
    gone: answered?.statusCode === 410,
    next: planNextTry({ tries, retryAfterMs: answered?.retryAfterMs, random: randomFraction(entropy) }),
  };
}

function randomFraction(entropy: Entropy): number {
  return Buffer.from(entropy.randomBytes(4)).readUInt32BE() / 2 ** 32;
}

// What one worker has under way without the lane's bookkeeping.
const batchDeliveries = 100;

/** Claims what is due and tries it once, all at the same time. The worker's lane does the same without a slowest one. */
export async function deliverOnce(context: DeliverContext): Promise<DeliveryResult[]> {
  const leaseToken = context.entropy.uuid();
  const claimed = await claimDeliveries(context.database, { leaseToken, limit: batchDeliveries });
  const recorder = new TryRecorder(context.database);
  return Promise.all(claimed.map((delivery) => deliver(context, delivery, recorder)));
}
