/** Makes one delivery attempt: signs, posts, decides and records. delivery-pool.ts claims the deliveries. */
import type { Database } from "../platform/database.ts";
import { encodeId, type MerchantId } from "../platform/ids.ts";
import type { Logger } from "../platform/log.ts";
import type { Runtime } from "../platform/runtime.ts";
import type { Secret } from "../platform/secrets.ts";
import { type SpanOptions, type Tracing, untraced } from "../platform/telemetry.ts";
import { classifyNoAnswer, type Egress } from "./egress.ts";
import {
  type Attempt,
  AttemptRecorder,
  type AttemptVerdict,
  type LeasedDelivery,
  type RecordedAttempt,
} from "./record-delivery.ts";
import { parseRetryAfterMs, planNextAttempt } from "./retry-schedule.ts";
import { outcomeOf, type SeenAttempt } from "./seen-attempt.ts";
import { signWebhook } from "./signature.ts";
import { openSigningSecrets, type SealedSecrets, type SealingContext } from "./signing-secrets.ts";

export type DeliverContext = SealingContext & {
  readonly database: Database;
  readonly runtime: Runtime;
  readonly egress: Egress;
  readonly log: Pick<Logger, "warn" | "error">;
  /** Observes each recorded delivery attempt, for metrics. Must not throw. */
  readonly onAttempt?: (seen: SeenAttempt) => void;
  readonly tracing?: Tracing | undefined;
  /** Longest rest of a loop that finds nothing: where something else wakes it for work that is due. */
  readonly idleMs?: number | undefined;
};

/** A delivery that only this worker may attempt until its lease ends. */
export type ClaimedDelivery = LeasedDelivery &
  SealedSecrets & {
    readonly merchantId: MerchantId;
    /** Delivery attempts recorded before this one. */
    readonly tries: number;
    readonly url: string;
    readonly body: Buffer;
    readonly lastAttemptFailed: boolean;
    readonly emittedAt: Date;
  };

export type DeliveryResult = AttemptVerdict | { readonly type: "leaseLost" };

/**
 * Attempts a claimed delivery and records the result under its lease. A process that dies between the two has sent a
 * webhook without a record of it: the same event is then sent again under the same id. Deliveries that share a recorder
 * are recorded together.
 */
export async function deliver(
  context: DeliverContext,
  claimed: ClaimedDelivery,
  recorder: Pick<AttemptRecorder, "record"> = new AttemptRecorder(context.database),
): Promise<DeliveryResult> {
  const attempt = await (context.tracing ?? untraced).span("webhook.deliver", spanOf(claimed), async (span) => {
    const sent = await sendWebhook(context, {
      url: claimed.url,
      eventId: encodeId("evt", claimed.eventId),
      body: claimed.body,
      secrets: openSigningSecrets(context, claimed.endpointId, claimed),
    });
    span.set({ outcome: outcomeOf(sent), httpStatus: sent.type === "answered" ? sent.statusCode : undefined });
    return sent;
  });
  const verdict = judgeAttempt(context.runtime, attempt, claimed.tries + 1);
  const written = await recorder.record(claimed, { ...attempt, id: context.runtime.uuid() }, verdict);
  const endpoint = encodeId("we", claimed.endpointId);
  if (written.disabledReason !== null) {
    context.log.warn({ endpoint, reason: written.disabledReason }, "a webhook endpoint was disabled");
  }
  if (!written.recorded) return { type: "leaseLost" };
  context.onAttempt?.(seenAttempt(claimed, { attempt, verdict, written }));
  return verdict;
}

function spanOf(claimed: ClaimedDelivery): SpanOptions {
  const facts = () => ({
    sessionId: encodeId("ps", claimed.sessionId),
    eventId: encodeId("evt", claimed.eventId),
    endpointId: encodeId("we", claimed.endpointId),
    tries: claimed.tries + 1,
  });
  return { of: { session: claimed.sessionId, event: claimed.eventId }, facts, kind: "client" };
}

/** Signs and posts the bytes once. Returns a network failure as a result and does not throw it. */
export async function sendWebhook(
  context: { readonly egress: Pick<Egress, "post">; readonly runtime: Pick<Runtime, "now"> },
  webhook: { url: string; eventId: string; body: Uint8Array; secrets: readonly Secret[] },
): Promise<Attempt> {
  const startedAt = context.runtime.now();
  const started = performance.now();
  const timing = () => ({ startedAt, durationMs: Math.round(performance.now() - started) });
  const headers = {
    "content-type": "application/json",
    "user-agent": "Webhooks/1 (+https://www.standardwebhooks.com)",
    ...signWebhook({ id: webhook.eventId, sentAt: startedAt, body: webhook.body, secrets: webhook.secrets }),
  };
  try {
    const { statusCode, retryAfter, bodyStart } = await context.egress.post(webhook.url, headers, webhook.body);
    const retryAfterMs = parseRetryAfterMs({ statusCode, retryAfter, now: context.runtime.now() });
    return {
      ...timing(),
      type: "answered",
      statusCode,
      answer: excerptAnswer(bodyStart),
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    };
  } catch (error) {
    return { ...timing(), type: "noAnswer", reason: classifyNoAnswer(error) };
  }
}

// 13 to 19 digits, possibly in groups: the length of card numbers (ISO/IEC 7812).
const cardLike = /\d(?:[ -]?\d){12,18}/g;
// Keys and signing secrets carry their kind in the middle, after a brand.
const secretLike = /\b\w*(?:whsec|[sr]k)_[A-Za-z0-9+/=_]{16,}/g;
// Characters that a text column refuses, that control a terminal, or that reverse the text after them.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const control = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;

/**
 * Extracts what the delivery log keeps of an answer: its text, without what could be a card number or a secret, because
 * some endpoints echo their input.
 */
function excerptAnswer(bodyStart: Uint8Array): string {
  return new TextDecoder()
    .decode(bodyStart)
    .replace(control, "")
    .replace(secretLike, "[redacted]")
    .replace(cardLike, "[redacted]");
}

/** Reports whether the endpoint accepted the webhook, which only a 2xx status does. */
export function isAccepted(attempt: Attempt): boolean {
  return attempt.type === "answered" && attempt.statusCode >= 200 && attempt.statusCode < 300;
}

// An endpoint that takes this long gets fewer deliveries at once.
const slowMs = 5_000;

/** Decides what an attempt means for its delivery; `tries` counts it. */
function judgeAttempt(runtime: Runtime, attempt: Attempt, tries: number): AttemptVerdict {
  if (isAccepted(attempt)) return { type: "succeeded", slow: attempt.durationMs > slowMs };
  const answered = attempt.type === "answered" ? attempt : undefined;
  return {
    type: "failed",
    gone: answered?.statusCode === 410,
    next: planNextAttempt({ tries, retryAfterMs: answered?.retryAfterMs, random: randomFraction(runtime) }),
  };
}

function randomFraction(runtime: Runtime): number {
  return Buffer.from(runtime.randomBytes(4)).readUInt32BE() / 2 ** 32;
}

function seenAttempt(
  claimed: ClaimedDelivery,
  { attempt, verdict, written }: { attempt: Attempt; verdict: AttemptVerdict; written: RecordedAttempt },
): SeenAttempt {
  return {
    outcome: outcomeOf(attempt),
    endpointClass: claimed.isProbe ? "failing" : "healthy",
    durationMs: attempt.durationMs,
    acceptedAfterMs:
      written.acceptedAt === null ? undefined : written.acceptedAt.getTime() - claimed.emittedAt.getTime(),
    exhausted: verdict.type === "failed" && verdict.next.type === "exhausted",
    disabledReason: written.disabledReason,
  };
}
