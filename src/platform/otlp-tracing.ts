/** Exports traces over OTLP: spans wait in a bounded queue, and an outage loses only spans. */
import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as pause } from "node:timers/promises";
import {
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  BatchSpanProcessor,
  RandomIdGenerator,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { Logger } from "./log.ts";
import {
  attributesOf,
  parseTraceparent,
  type SpanName,
  type SpanOptions,
  type SpanOrigin,
  spanIdOf,
  type Tracing,
  traceIdOf,
} from "./telemetry.ts";

// Most waiting spans; further ones are dropped while the collector is away. Some 2 KB each, so 16 MB.
const spansWaitingMax = 8_192;
// Spans of one request to the collector: below its default limit of 4 MB.
const spansSentMax = 512;
// Longest age of a span before it is sent: a trace is complete a few seconds after its payment.
const spansSentEveryMs = 2_000;
// Timeout of one request to the collector, including retries. Shorter than a stop may take.
const collectorTimeoutMs = 5_000;
// Longest wait of a stopping process for its last spans, within the 20 s that a stop may take.
const lastSpansWaitMs = 2_000;

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT } as const;

export type OtlpOptions = {
  /** The collector's address, to which `/v1/traces` is added. */
  readonly endpoint: string;
  readonly service: { readonly name: string; readonly role: string; readonly version: string };
  /** The share of sessions that are traced, from 0 to 1: decided by the session's id, so the same in every process. */
  readonly ratio: number;
  readonly log: Pick<Logger, "info" | "warn">;
};

/** Opens tracing. Nothing is sent before a span has ended, and nothing here waits for the collector. */
export function openOtlpTracing(options: OtlpOptions): Tracing {
  const ids = new ChosenIds();
  const exporter = new OTLPTraceExporter({
    url: `${options.endpoint.replace(/\/+$/, "")}/v1/traces`,
    timeoutMillis: collectorTimeoutMs,
  });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      "service.name": options.service.name,
      "service.version": options.service.version,
      "switchyard.role": options.service.role,
    }),
    // The trace's id alone decides: neither a caller nor a parent does.
    sampler: new TraceIdRatioBasedSampler(options.ratio),
    idGenerator: ids,
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: tellingTrouble(exporter, options.log),
        maxQueueSize: spansWaitingMax,
        maxExportBatchSize: spansSentMax,
        scheduledDelayMillis: spansSentEveryMs,
        exportTimeoutMillis: collectorTimeoutMs,
      }),
    ],
  });
  return new OtlpTracing(provider, ids);
}

class OtlpTracing implements Tracing {
  readonly #provider: TracerProvider;
  readonly #tracer;
  readonly #ids: ChosenIds;
  readonly #current = new AsyncLocalStorage<SpanContext>();

  constructor(provider: TracerProvider, ids: ChosenIds) {
    this.#provider = provider;
    this.#tracer = provider.getTracer("switchyard");
    this.#ids = ids;
  }

  async span<Result>(...[name, options, work]: Parameters<Tracing["span"]>): Promise<Result> {
    const span = this.#start(name, options);
    const open = { set: (facts: Parameters<typeof attributesOf>[0]) => void span.setAttributes(attributesOf(facts)) };
    try {
      return (await this.#current.run(span.spanContext(), () => work(open))) as Result;
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  }

  begin(): ReturnType<Tracing["begin"]> {
    const startTime = Date.now();
    return (name, options) => this.#start(name, options, { startTime, id: options.id }).end();
  }

  outgoing(): string | undefined {
    const current = this.#current.getStore();
    return current && `00-${current.traceId}-${current.spanId}-0${current.traceFlags & TraceFlags.SAMPLED}`;
  }

  async close(): Promise<void> {
    // Spans that cannot be sent by then are lost; the failure has been logged.
    await Promise.race([this.#provider.shutdown().catch(() => {}), pause(lastSpansWaitMs, undefined, { ref: false })]);
  }

  #start(name: SpanName, options: SpanOptions, past?: { startTime: number; id: string | undefined }): Span {
    const { traceId, parent } = this.#originOf(options.of);
    const spanId = past?.id === undefined ? undefined : spanIdOf(past.id);
    // The first span of a session has no parent.
    const isRoot = parent === undefined || parent === spanId;
    const link = parseTraceparent(options.link);
    this.#ids.next = { traceId, spanId };
    return this.#tracer.startSpan(
      name,
      {
        kind: options.kind === undefined ? SpanKind.INTERNAL : kinds[options.kind],
        attributes: attributesOf(options.facts?.() ?? {}),
        links: link === undefined ? [] : [{ context: { ...link, traceFlags: TraceFlags.NONE, isRemote: true } }],
        ...(past && { startTime: past.startTime }),
      },
      isRoot
        ? ROOT_CONTEXT
        : trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId: parent, traceFlags: TraceFlags.NONE }),
    );
  }

  /** Returns the parent of a span: the span open here if it is of the same session; otherwise as given. */
  #originOf(origin: SpanOrigin): { traceId: string; parent: string | undefined } {
    const current = this.#current.getStore();
    if ("traceparent" in origin) {
      const remote = parseTraceparent(origin.traceparent);
      if (remote !== undefined) return { traceId: remote.traceId, parent: remote.spanId };
      return current
        ? { traceId: current.traceId, parent: current.spanId }
        : { traceId: this.#ids.random(), parent: undefined };
    }
    const traceId = traceIdOf(origin.session);
    if (origin.event !== undefined) return { traceId, parent: spanIdOf(origin.event) };
    return { traceId, parent: current?.traceId === traceId ? current.spanId : spanIdOf(origin.session) };
  }
}

/** Gives a span the ids chosen just before its start, and random ones if none were chosen. */
class ChosenIds {
  readonly #random = new RandomIdGenerator();
  next: { readonly traceId: string; readonly spanId: string | undefined } | undefined;

  random(): string {
    return this.#random.generateTraceId();
  }

  generateTraceId(): string {
    return this.next?.traceId ?? this.#random.generateTraceId();
  }

  generateSpanId(): string {
    return this.next?.spanId ?? this.#random.generateSpanId();
  }
}

/** Logs once that spans cannot be sent, and once that they can be again. */
function tellingTrouble(exporter: SpanExporter, log: OtlpOptions["log"]): SpanExporter {
  let isAway = false;
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const failed = result.error !== undefined || result.code !== 0;
        if (failed && !isAway)
          log.warn({ err: result.error }, "traces cannot be sent; they are dropped until they can be");
        if (!failed && isAway) log.info("traces are sent again");
        isAway = failed;
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
  };
}
