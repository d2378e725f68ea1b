import { describe, expect, it } from "vitest";
import { Receiver } from "../dev/testing/receiver.ts";
import { createStrictLog } from "../dev/testing/strict-log.ts";
import { TraceCollector } from "../dev/testing/trace-collector.ts";
import { openOtlpTracing } from "./otlp-tracing.ts";
import { systemRuntime } from "./runtime.ts";
import { spanIdOf, traceIdOf } from "./telemetry.ts";

const spansWaitingMax = 8_192;
const spansSentMax = 512;

const service = { name: "switchyard", role: "edge", version: "1" };
const sampledByOthers = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

function open(endpoint: string, ratio = 1) {
  const lines: string[] = [];
  const log = createStrictLog((line) => lines.push(JSON.parse(line).msg));
  return { tracing: openOtlpTracing({ endpoint, service, ratio, log }), lines };
}

/** Returns the sent sessions, out of as many that each had a span. */
async function sampledOf(sessions: readonly string[], ratio: number, link: string): Promise<string[]> {
  const collector = await TraceCollector.start();
  const { tracing } = open(collector.origin, ratio);
  for (const session of sessions) {
    await tracing.span("payment.submit", { of: { session }, link }, async () => {});
    tracing.begin()("session.create", { of: { session }, id: session, link });
    await tracing.span("vault.forward", { of: { traceparent: sampledByOthers } }, async () => {});
  }
  await tracing.close();
  await collector.close();
  return [...new Set(collector.spans.map(({ traceId }) => traceId))].sort();
}

describe("openOtlpTracing()", () => {
  it("samples a share of the sessions, the same in every process, whatever a caller requests", async () => {
    const sessions = Array.from({ length: 400 }, () => systemRuntime.uuid());
    const kept = await sampledOf(sessions, 0.5, sampledByOthers);
    expect(await sampledOf(sessions, 0.5, "")).toEqual(kept);
    const ofSessions = kept.filter((traceId) => sessions.map(traceIdOf).includes(traceId));
    // Of 400 tosses of a coin, fewer than 130 or more than 270 heads come up once in a million million times.
    expect(ofSessions.length).toBeGreaterThan(130);
    expect(ofSessions.length).toBeLessThan(270);
    expect(await sampledOf(sessions.slice(0, 20), 0, sampledByOthers)).toEqual([]);
  });

  it("neither slows nor fails work while the collector is silent, nor delays the end", async () => {
    const collector = await Receiver.start();
    collector.answerWith("hang");
    const { tracing } = open(collector.url);
    const session = systemRuntime.uuid();
    const started = performance.now();
    for (let count = 0; count < 5_000; count++) {
      expect(await tracing.span("payment.process", { of: { session } }, async () => count)).toBe(count);
    }
    // One takes some 0.02 ms; a span that waited for the network would take whole milliseconds.
    expect((performance.now() - started) / 5_000).toBeLessThan(0.5);
    const closing = performance.now();
    await tracing.close();
    // A request to the collector may take five seconds.
    expect(performance.now() - closing).toBeLessThan(4_000);
    await collector.close();
  });

  it("logs once that the collector refuses, and once that it accepts spans again", async () => {
    const collector = await Receiver.start();
    const { tracing, lines } = open(collector.url);
    const send = async (status: number) => {
      collector.answerWith({ status });
      // A full batch is sent at once.
      for (let count = 0; count < spansSentMax; count++) {
        await tracing.span("payment.process", { of: { session: systemRuntime.uuid() } }, async () => {});
      }
      await collector.waitForCount(collector.requests.length + 1);
    };
    for (const status of [400, 400, 200]) await send(status);
    await tracing.close();
    await collector.close();
    expect(lines).toEqual(["traces cannot be sent; they are dropped until they can be", "traces are sent again"]);
  });

  it("keeps a bounded number of spans for a collector that answers late", async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const collector = await Receiver.start();
    collector.answerWith(() => released.then(() => ({ status: 200 })));
    const { tracing } = open(collector.url);
    const session = systemRuntime.uuid();
    for (let count = 0; count < 3 * spansWaitingMax; count++) {
      await tracing.span("payment.process", { of: { session } }, async () => {});
    }
    release();
    // One batch was in flight, and this many more waited.
    const batches = 1 + spansWaitingMax / spansSentMax;
    await collector.waitForCount(batches);
    await tracing.span("webhook.deliver", { of: { session } }, async () => {});
    await tracing.close();
    const [next] = (await collector.waitForCount(batches + 1)).slice(batches);
    expect(next?.body.includes("webhook.deliver")).toBe(true);
    await collector.close();
  });

  it("attaches other processes' spans to the session and to its events, whichever process has ended", async () => {
    const collector = await TraceCollector.start();
    const [edge, worker] = [open(collector.origin).tracing, open(collector.origin).tracing];
    const [session, event] = [systemRuntime.uuid(), systemRuntime.uuid()];
    const finish = edge.begin();
    finish("session.create", { of: { session }, id: session });
    await edge.span("payment.process", { of: { session } }, async () => {
      edge.begin()("event.record", { of: { session }, id: event });
    });
    await edge.close();
    await worker.span("payment.process", { of: { session } }, async () => {
      // Work on one session that leads to another's does not belong to it.
      await worker.span("payment.process", { of: { session: systemRuntime.uuid() } }, async () => {});
      await worker.span("webhook.deliver", { of: { session, event } }, async () => {});
    });
    await worker.close();
    await collector.close();
    const mine = collector.spans.filter(({ traceId }) => traceId === traceIdOf(session));
    const idOf = (name: string) => mine.find((span) => span.name === name)?.spanId;
    expect(mine.map(({ name, parentId }) => [name, parentId])).toEqual([
      ["session.create", ""],
      ["event.record", idOf("payment.process")],
      ["payment.process", idOf("session.create")],
      ["webhook.deliver", idOf("event.record")],
      ["payment.process", idOf("session.create")],
    ]);
    expect([idOf("session.create"), idOf("event.record")]).toEqual([session, event].map(spanIdOf));
    expect(collector.spans).toHaveLength(6);
  });

  it("records that work failed, without the message of its error", async () => {
    const collector = await TraceCollector.start();
    const { tracing } = open(collector.origin);
    const failing = () => Promise.reject(new Error("no card 4242424242424242"));
    const of = { session: systemRuntime.uuid() };
    await expect(tracing.span("payment.process", { of }, failing)).rejects.toThrow("no card");
    await tracing.close();
    await collector.close();
    expect(collector.spans.map(({ name }) => name)).toEqual(["payment.process"]);
    expect(collector.text).not.toContain("card");
  });
});
