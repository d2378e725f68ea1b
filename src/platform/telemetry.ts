/** The traces of payments: which spans there are, what each may tell, and how they hang together. Knows no exporter. */

/** Every span. Nothing else is traced: no library is instrumented, which could take bodies, addresses or statements. */
export const spanNames = [
  "session.create",
  "payment.submit",
  "payment.process",
  "gateway.authorize",
  "gateway.capture",
  "gateway.void",
  "gateway.look_up",
  "vault.call",
  "vault.forward",
  "vault.send",
  "event.record",
  "event.publish",
  "webhook.deliver",
] as const;
/** One of them. */
export type SpanName = (typeof spanNames)[number];

const word = /^[\w.:-]{1,64}$/;
const id = /^[a-z]{2,4}_[0-9a-z]{26}$/;

/** What a span may tell, each under its attribute and in its form. A card, a secret or an address has no place here. */
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

/** Every attribute that any span may have. */
export const attributeNames: readonly string[] = Object.values(attributes).map(([attribute]) => attribute);

/** Facts of a span. One that is not in its form is left out. */
export type SpanFacts = { readonly [Fact in keyof typeof attributes]?: string | number | undefined };

/** The attributes of facts, by the names under which traces show them. */
export function attributesOf(facts: SpanFacts): Record<string, string | number> {
  const shown: Record<string, string | number> = {};
  for (const [fact, [attribute, shape]] of Object.entries(attributes)) {
    const value = facts[fact as keyof SpanFacts];
    if (value !== undefined && shape.test(String(value))) shown[attribute] = value;
  }
  return shown;
}

/**
 * Where a span belongs: to a session, by its UUID, which is the trace's id, so that every process knows it and nothing has
 * to carry it; below one of the session's events, by its UUID; or where another process of ours said, as a traceparent.
 */
export type SpanPlace =
  | { readonly session: string; readonly event?: string | undefined }
  | { readonly traceparent: string | undefined };

/** What a span is opened with. */
export type SpanOptions = {
  /** Inside a span of the same session the new one is below that; else it hangs where this says. */
  readonly of: SpanPlace;
  /** Asked for only where there are traces. */
  readonly facts?: () => SpanFacts;
  /** Whether it takes a request, sends one, or neither. */
  readonly kind?: "server" | "client";
  /** A caller's traceparent header: linked to, never obeyed, for an outsider decides neither our traces nor which are kept. */
  readonly link?: string | null;
};

/** A span that is open. */
export type OpenSpan = { tell(facts: SpanFacts): void };

/** Records a span that began when this was given; `id` is the UUID of the event or session that others hang below. */
export type FinishSpan = (name: SpanName, options: SpanOptions & { readonly id?: string }) => void;

/** Where spans go. None of it throws, waits for a collector, or changes what the work returns. */
export type Tracing = {
  /** Does the work inside a span. A rejection is told as an error, without its message. */
  span<Result>(name: SpanName, options: SpanOptions, work: (span: OpenSpan) => Promise<Result>): Promise<Result>;
  begin(): FinishSpan;
  /** The traceparent for another process of ours; never for a gateway or a merchant. */
  outgoing(): string | undefined;
  /** Sends what waits, for as long as a stop may take. */
  close(): Promise<void>;
};

const silent: OpenSpan = { tell: () => {} };
const finishNothing: FinishSpan = () => {};

/** No traces: what holds unless a collector is configured. */
export const untraced: Tracing = {
  span: (_name, _options, work) => work(silent),
  begin: () => finishNothing,
  outgoing: () => undefined,
  close: async () => {},
};

/** A session's trace. Of a UUIDv7 the last 62 bits are random, which is what samplers look at. */
export function traceIdOf(sessionId: string): string {
  return sessionId.replaceAll("-", "");
}

/** The span that belongs to a session or an event: the second half of its UUID, whose first bit is always set. */
export function spanIdOf(uuid: string): string {
  return uuid.replaceAll("-", "").slice(16);
}

/** https://www.w3.org/TR/trace-context/#traceparent-header (level 2, 2024), version 00. */
const traceparentShape = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}$/;

/** The ids of a traceparent header; undefined for anything else. */
export function parseTraceparent(
  header: string | null | undefined,
): { readonly traceId: string; readonly spanId: string } | undefined {
  const [, traceId, spanId] = traceparentShape.exec(header ?? "") ?? [];
  return traceId === undefined || spanId === undefined ? undefined : { traceId, spanId };
}
