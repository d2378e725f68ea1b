/** Traces over OTLP, by OpenTelemetry's tracer: spans wait in a bounded queue, and a collector that is away costs them alone. */
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
import {
  collectorTimeoutMs,
  lastSpansWaitMs,
  spansSentEveryMs,
  spansSentMax,
  spansWaitingMax,
} from "../limits/telemetry.ts";
import type { Logger } from "./log.ts";
import {
  attributesOf,
  parseTraceparent,
  type SpanName,
  type SpanOptions,
  type SpanPlace,
  spanIdOf,
  type Tracing,
  traceIdOf,
} from "./telemetry.ts";

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT } as const;

/** What traces are opened with. */
export type OtlpOptions = {
  /** The collector's address, to which `/v1/traces` is added. */
  readonly endpoint: string;
  /** The process, as the traces call it. */
  readonly service: { readonly name: string; readonly role: string; readonly version: string };
  /** The share of sessions that are traced, from 0 to 1: decided by the session's id, so the same in every process. */
  readonly ratio: number;
  readonly log: Pick<Logger, "info" | "warn">;
};

/** Opens them. Nothing is sent before a span has ended, and nothing here waits for the collector. */
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
    // By the trace's id alone: neither a caller nor a parent has a say.
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
    const open = { tell: (facts: Parameters<typeof attributesOf>[0]) => void span.setAttributes(attributesOf(facts)) };
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
    // What cannot be sent by then is lost; the trouble has been told.
    await Promise.race([this.#provider.shutdown().catch(() => {}), pause(lastSpansWaitMs, undefined, { ref: false })]);
  }

  #start(name: SpanName, options: SpanOptions, past?: { startTime: number; id: string | undefined }): Span {
    const { traceId, parent } = this.#placeOf(options.of);
    const spanId = past?.id === undefined ? undefined : spanIdOf(past.id);
    // The first span of a session is below nothing.
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

  /** Below the span that is open here when it is of the same session; else where the place says. */
  #placeOf(place: SpanPlace): { traceId: string; parent: string | undefined } {
    const current = this.#current.getStore();
    if ("traceparent" in place) {
      const remote = parseTraceparent(place.traceparent);
      if (remote !== undefined) return { traceId: remote.traceId, parent: remote.spanId };
      return current
        ? { traceId: current.traceId, parent: current.spanId }
        : { traceId: this.#ids.random(), parent: undefined };
    }
    const traceId = traceIdOf(place.session);
    if (place.event !== undefined) return { traceId, parent: spanIdOf(place.event) };
    return { traceId, parent: current?.traceId === traceId ? current.spanId : spanIdOf(place.session) };
  }
}

/** Gives a span the ids that were chosen right before it is started, and random ones where none were. */
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

/** Says once that spans cannot be sent, and once that they can be again. */
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
