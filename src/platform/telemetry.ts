/** The traces of payments: their spans, the attributes of each, and their hierarchy. Knows no exporter. */

import type { EventId, SessionId } from "./ids.ts";

/** Every span. Nothing else is traced: no library is instrumented, which could take bodies, addresses or statements. */
export const spanNames = [
  "session.create",
  "payment.submit",
  "payment.process",
  "gateway.authorize",
  "gateway.capture",
  "gateway.void",
  "gateway.look_up",
  "gateway.complete",
  "gateway.ask_action",
  "vault.call",
  "vault.forward",
  "vault.send",
  "event.record",
  "event.publish",
  "webhook.deliver",
] as const;
export type SpanName = (typeof spanNames)[number];

const word = /^[\w.:-]{1,64}$/;
const id = /^[a-z]{2,4}_[0-9a-z]{26}$/;

/** The attributes of spans, each with its name and form. A card, a secret or an address must not be added. */
const attributes = {
  environment: ["payment.environment", /^(test|live)$/],
  sessionId: ["payment.session_id", id],
  attemptId: ["payment.attempt_id", id],
  gateway: ["payment.gateway", /^[A-Z][A-Z0-9_]{1,30}$/],
  outcome: ["payment.outcome", word],
  status: ["payment.status", /^[A-Z]{1,20}$/],
  declineCode: ["payment.decline_code", word],
  failureKind: ["payment.failure_kind", /^[A-Z_]{1,30}$/],
  operation: ["payment.operation", word],
  requestId: ["payment.request_id", id],
  replayed: ["payment.replayed", /^true$/],
  eventId: ["event.id", id],
  eventType: ["event.type", word],
  endpointId: ["webhook.endpoint_id", id],
  tries: ["webhook.tries", /^\d{1,4}$/],
  httpStatus: ["http.response.status_code", /^\d{3}$/],
} as const satisfies Record<string, readonly [attribute: string, shape: RegExp]>;

export const attributeNames: readonly string[] = Object.values(attributes).map(([attribute]) => attribute);

/** Facts of a span. One that is not in its form is omitted. */
export type SpanFacts = { readonly [Fact in keyof typeof attributes]?: string | number | undefined };

export function attributesOf(facts: SpanFacts): Record<string, string | number> {
  const shown: Record<string, string | number> = {};
  for (const [fact, [attribute, shape]] of Object.entries(attributes)) {
    const value = facts[fact as keyof SpanFacts];
    if (value !== undefined && shape.test(String(value))) shown[attribute] = value;
  }
  return shown;
}

/**
 * The parent of a span: a session, by its UUID, which is the trace's id, so that every process knows it without
 * propagation; one of the session's events, by its UUID; or a span of another process of ours, as a traceparent.
 */
export type SpanOrigin =
  | { readonly session: SessionId; readonly event?: EventId | undefined }
  | { readonly traceparent: string | undefined };

export type SpanOptions = {
  /** Within a span of the same session the new one is its child; otherwise its parent is this. */
  readonly of: SpanOrigin;
  /** Called only if tracing is on. */
  readonly facts?: () => SpanFacts;
  /** Kind of the span: it receives a request, sends one, or neither. */
  readonly kind?: "server" | "client";
  /** A caller's traceparent header: linked only, since an outsider decides neither our traces nor which are kept. */
  readonly link?: string | null;
};

type OpenSpan = { set(facts: SpanFacts): void };

/** Records a span that began when this was created; `id` is the UUID of the event or session. */
type FinishSpan = (name: SpanName, options: SpanOptions & { readonly id?: string }) => void;

/** The receiver of spans. None of it throws, waits for a collector, or changes the work's result. */
export type Tracing = {
  /** Runs the work within a span. A rejection is recorded as an error, without its message. */
  span<Result>(name: SpanName, options: SpanOptions, work: (span: OpenSpan) => Promise<Result>): Promise<Result>;
  begin(): FinishSpan;
  /** Returns the traceparent for another process of ours; never for a gateway or a merchant. */
  outgoing(): string | undefined;
  /** Sends waiting spans, within the time limit of a stop. */
  close(): Promise<void>;
};

const silent: OpenSpan = { set: () => {} };
const finishNothing: FinishSpan = () => {};

/** Disables tracing; the default unless a collector is configured. */
export const untraced: Tracing = {
  span: (_name, _options, work) => work(silent),
  begin: () => finishNothing,
  outgoing: () => undefined,
  close: async () => {},
};

/** Returns a session's trace id. Of a UUIDv7 the last 62 bits are random, which samplers use. */
export function traceIdOf(sessionId: SessionId): string {
  return sessionId.replaceAll("-", "");
}

/** Returns the span id of a session or an event: the second half of its UUID, whose first bit is always set. */
export function spanIdOf(uuid: string): string {
  return uuid.replaceAll("-", "").slice(16);
}

/** https://www.w3.org/TR/trace-context/#traceparent-header (level 2, 2024), version 00. */
const traceparentShape = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}$/;

/** Returns the ids of a traceparent header; undefined for anything else. */
export function parseTraceparent(
  header: string | null | undefined,
): { readonly traceId: string; readonly spanId: string } | undefined {
  const [, traceId, spanId] = traceparentShape.exec(header ?? "") ?? [];
  return traceId === undefined || spanId === undefined ? undefined : { traceId, spanId };
}
