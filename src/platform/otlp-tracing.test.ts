import { describe, expect, it } from "vitest";
import { spansSentMax, spansWaitingMax } from "../limits/telemetry.ts";
import { Receiver } from "../testing/receiver.ts";
import { createStrictLog } from "../testing/strict-log.ts";
import { TraceCollector } from "../testing/trace-collector.ts";
import { systemEntropy } from "./entropy.ts";
import { openOtlpTracing } from "./otlp-tracing.ts";
import { spanIdOf, traceIdOf } from "./telemetry.ts";

const service = { name: "switchyard", role: "edge", version: "1" };
const sampledByOthers = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

function open(endpoint: string, ratio = 1) {
  const lines: string[] = [];
  const log = createStrictLog((line) => lines.push(JSON.parse(line).msg));
  return { tracing: openOtlpTracing({ endpoint, service, ratio, log }), lines };
}

/** The sessions that were sent, of as many that each had a span. */
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
  it("keeps a share of the sessions, the same ones in every process, whatever a caller asks for", async () => {
    const sessions = Array.from({ length: 400 }, () => systemEntropy.uuid());
    const kept = await sampledOf(sessions, 0.5, sampledByOthers);
    expect(await sampledOf(sessions, 0.5, "")).toEqual(kept);
    const ofSessions = kept.filter((traceId) => sessions.map(traceIdOf).includes(traceId));
    // Of 400 tosses of a coin, fewer than 130 or more than 270 heads come up once in a million million times.
    expect(ofSessions.length).toBeGreaterThan(130);
    expect(ofSessions.length).toBeLessThan(270);
    expect(await sampledOf(sessions.slice(0, 20), 0, sampledByOthers)).toEqual([]);
  });

  it("neither slows nor fails work while the collector is silent, nor holds up the end", async () => {
    const collector = await Receiver.start();
    collector.answerWith("hang");
    const { tracing } = open(collector.url);
    const session = systemEntropy.uuid();
    const started = performance.now();
    for (let count = 0; count < 5_000; count++) {
      expect(await tracing.span("payment.process", { of: { session } }, async () => count)).toBe(count);
    }
    // One takes some 0.02 ms; a span that waited for the network would take whole ones.
    expect((performance.now() - started) / 5_000).toBeLessThan(0.5);
    const closing = performance.now();
    await tracing.close();
    // A request to the collector is given five seconds.
    expect(performance.now() - closing).toBeLessThan(4_000);
    await collector.close();
  });

  it("says once that the collector refuses, and once that it takes spans again", async () => {
    const collector = await Receiver.start();
    const { tracing, lines } = open(collector.url);
    const send = async (status: number) => {
      collector.answerWith({ status });
      // A full batch leaves at once.
      for (let count = 0; count < spansSentMax; count++) {
        await tracing.span("payment.process", { of: { session: systemEntropy.uuid() } }, async () => {});
      }
      await collector.waitForCount(collector.requests.length + 1);
    };
    for (const status of [400, 400, 200]) await send(status);
    await tracing.close();
    await collector.close();
    expect(lines).toEqual(["traces cannot be sent; they are dropped until they can be", "traces are sent again"]);
  });

  it("lets a bounded number of spans wait for a collector that answers late", async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const collector = await Receiver.start();
    collector.answerWith(() => released.then(() => ({ status: 200 })));
    const { tracing } = open(collector.url);
    const session = systemEntropy.uuid();
    for (let count = 0; count < 3 * spansWaitingMax; count++) {
      await tracing.span("payment.process", { of: { session } }, async () => {});
    }
    release();
    // One batch was on its way, and so many more waited.
    const batches = 1 + spansWaitingMax / spansSentMax;
    await collector.waitForCount(batches);
    await tracing.span("webhook.deliver", { of: { session } }, async () => {});
    await tracing.close();
    const [next] = (await collector.waitForCount(batches + 1)).slice(batches);
    expect(next?.body.includes("webhook.deliver")).toBe(true);
    await collector.close();
  });

  it("hangs the spans of other processes at the session and at its events, whichever process has ended", async () => {
    const collector = await TraceCollector.start();
    const [edge, worker] = [open(collector.origin).tracing, open(collector.origin).tracing];
    const [session, event] = [systemEntropy.uuid(), systemEntropy.uuid()];
    const finish = edge.begin();
    finish("session.create", { of: { session }, id: session });
    await edge.span("payment.process", { of: { session } }, async () => {
      edge.begin()("event.record", { of: { session }, id: event });
    });
    await edge.close();
    await worker.span("payment.process", { of: { session } }, async () => {
      // Work on one session that leads to another's is no part of it.
      await worker.span("payment.process", { of: { session: systemEntropy.uuid() } }, async () => {});
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

  it("tells that work failed, without the words of its error", async () => {
    const collector = await TraceCollector.start();
    const { tracing } = open(collector.origin);
    const failing = () => Promise.reject(new Error("no card 4242424242424242"));
    const of = { session: systemEntropy.uuid() };
    await expect(tracing.span("payment.process", { of }, failing)).rejects.toThrow("no card");
    await tracing.close();
    await collector.close();
    expect(collector.spans.map(({ name }) => name)).toEqual(["payment.process"]);
    expect(collector.text).not.toContain("card");
  });
});
