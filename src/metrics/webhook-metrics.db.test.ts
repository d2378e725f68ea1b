import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { Registry } from "prom-client";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { deliverOnce } from "../dev/testing/events/deliver-once.ts";
import { fanOut } from "../dev/testing/events/fan-out.ts";
import { openNatsHarness } from "../dev/testing/events/nats-harness.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { Receiver } from "../dev/testing/receiver.ts";
import { sweepOnce } from "../events/end-events.ts";
import { pauseEndpoint } from "../events/endpoint-status.ts";
import { republishOnce } from "../events/publish.ts";
import { attemptOutcomes } from "../events/seen-attempt.ts";
import { StreamWatch } from "../events/stream-watch.ts";
import { eventStreamOf } from "../events/streams.ts";
import { endpointClasses, loadWebhookFigures } from "../events/webhook-figures.ts";
import { Database, type Statement } from "../platform/database.ts";
import { createMetricsServer } from "./metrics-server.ts";
import { sampleWebhooksOnce } from "./sample-webhooks.ts";
import { createWebhookMetrics } from "./webhook-metrics.ts";

const stream = eventStreamOf("test", 1);
const { harness, link } = await forFile(openNatsHarness);
let receiver: Receiver;
let merchantId: string;
let registry: Registry;
let metrics: ReturnType<typeof createWebhookMetrics>;
let streamWatch: StreamWatch;

beforeEach(async () => {
  await harness.setClockAhead("0 seconds");
  await harness.rows("UPDATE delivery SET status = 'EXHAUSTED', next_at = NULL, lease_token = NULL, ended_at = now()");
  await harness.rows("UPDATE endpoint SET status = 'REMOVED', disabled_at = NULL, disabled_reason = NULL");
  await harness.rows("DELETE FROM event_todo");
  registry = new Registry();
  metrics = createWebhookMetrics(registry, "switchyard");
  metrics.begin("test");
  streamWatch = new StreamWatch({ nats: link, stream, log: { warn: vi.fn(), error: vi.fn() } });
  receiver = await Receiver.start();
  onTestFinished(() => receiver.close());
  merchantId = harness.context.runtime.uuid();
});

/** Returns every sample of a fresh reading, by its name and labels as they are written. */
async function read(): Promise<Record<string, number>> {
  const { database } = harness.context;
  await sampleWebhooksOnce({ environmentName: "test", database, nats: link, stream, streamWatch, metrics });
  const lines = (await registry.metrics()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ") + 1))]),
  );
}
const named = (name: string, labels = "") => `switchyard_${name}{environment="test"${labels && `,${labels}`}}`;
const ofClass = (name: string, endpointClass: string) => named(name, `endpoint_class="${endpointClass}"`);

async function emitAndFanOut(owner = merchantId) {
  const { sessionId } = await harness.emit({ merchantId: owner });
  await fanOut(harness.context.database, [{ sessionId, sequence: 1 }]);
}
const deliverSeen = () => deliverOnce({ ...harness.context, onAttempt: (seen) => metrics.countAttempt("test", seen) });

describe("webhook figures", () => {
  it("have a number for every outcome and class from the start, and they are 0", async () => {
    const samples = await read();
    for (const endpointClass of endpointClasses) {
      for (const name of ["webhook_deliveries_due", "webhook_deliveries_due_age_seconds", "webhook_endpoints"]) {
        expect([name, endpointClass, samples[ofClass(name, endpointClass)]]).toEqual([name, endpointClass, 0]);
      }
    }
    for (const outcome of attemptOutcomes) {
      expect(samples[named("webhook_delivery_attempts_total", `outcome="${outcome}",endpoint_class="healthy"`)]).toBe(
        0,
      );
    }
    expect(samples[named("webhook_deliveries_exhausted_total")]).toBe(0);
    expect(samples[named("webhook_figures_timestamp_seconds")]).toBeGreaterThan(1_700_000_000);
  });

  it("count the events that wait for their deliveries and to be published, with the age of the oldest", async () => {
    await harness.emit({ merchantId });
    await harness.setClockAhead("40 seconds");
    await harness.emit({ merchantId });
    const before = await read();
    expect([before[named("outbox_unpublished")], before[named("events_not_fanned_out")]]).toEqual([0, 2]);
    await sweepOnce(harness.context.database);
    const swept = await read();
    expect([swept[named("outbox_unpublished")], swept[named("events_not_fanned_out")]]).toEqual([1, 1]);
    for (const age of [
      before[named("events_not_fanned_out_age_seconds")],
      swept[named("outbox_unpublished_age_seconds")],
    ]) {
      expect(age).toBeGreaterThanOrEqual(40);
      expect(age).toBeLessThan(60);
    }
    await streamWatch.checkOnce();
    await republishOnce({ ...harness.context, nats: link, stream });
    const after = await read();
    expect([after[named("outbox_unpublished")], after[named("outbox_unpublished_age_seconds")]]).toEqual([0, 0]);
    expect(after[named("events_not_fanned_out")]).toBe(1);
  });

  it("count the events that an open transaction keeps from event streams", async () => {
    const writer = await harness.context.database.pool.connect();
    await writer.query("BEGIN");
    await writer.query("SELECT pg_current_xact_id()");
    await harness.emit({ merchantId });
    await harness.setClockAhead("90 seconds");
    const held = await read();
    await writer.query("ROLLBACK");
    writer.release();
    expect(held[named("events_unsettled")]).toBe(1);
    expect(held[named("events_unsettled_age_seconds")]).toBeGreaterThanOrEqual(50);
    await expect.poll(async () => (await read())[named("events_unsettled")]).toBe(0);
  });

  it("distinguish deliveries waiting at a dead endpoint, at a stopped one and at a good one", async () => {
    const [dead, good] = [await Receiver.start(), receiver];
    onTestFinished(() => dead.close());
    const other = harness.context.runtime.uuid();
    const deadKey = await harness.addEndpoint({ merchantId, url: dead.url });
    dead.answerWith({ status: 500 });
    for (let count = 0; count < 5; count++) await emitAndFanOut();
    for (let count = 0; count < 3; count++) await deliverSeen();
    await harness.setClockAhead("2 hours");
    await harness.addEndpoint({ merchantId: other, url: good.url });
    await emitAndFanOut(other);
    const samples = await read();
    expect(samples[ofClass("webhook_endpoints", "failing")]).toBe(1);
    expect(samples[ofClass("webhook_endpoints", "healthy")]).toBe(1);
    expect(samples[ofClass("webhook_deliveries_due", "failing")]).toBe(5);
    expect(samples[ofClass("webhook_deliveries_due_age_seconds", "failing")]).toBeGreaterThan(6_000);
    expect(samples[ofClass("webhook_deliveries_due", "healthy")]).toBe(1);
    expect(samples[ofClass("webhook_deliveries_due_age_seconds", "healthy")]).toBeLessThan(30);
    await harness.change((tx) => pauseEndpoint(tx, deadKey));
    const paused = await read();
    expect(paused[ofClass("webhook_deliveries_due", "failing")]).toBe(0);
    expect(paused[ofClass("webhook_deliveries_due", "paused")]).toBe(5);
  });

  it("read no whole table, and never more than a bounded part of an index", async () => {
    const statements: string[] = [];
    class Watched extends Database {
      override query<Row extends object>(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
        statements.push(statement.text);
        return super.query<Row>(statement, values);
      }
    }
    await loadWebhookFigures(new Watched(harness.context.database.pool));
    // As with many rows: in a small table it is as cheap to read and sort them all.
    for (const way of ["seqscan", "bitmapscan", "sort"]) await harness.rows(`SET enable_${way} = off`);
    const plans = [];
    for (const text of statements) {
      const rows = await harness.rows<{ "QUERY PLAN": string }>(`EXPLAIN (GENERIC_PLAN, COSTS OFF) ${text}`);
      plans.push(rows.map((row) => row["QUERY PLAN"]).join("\n"));
    }
    await harness.rows("RESET ALL");
    expect(plans).toEqual([
      expect.stringMatching(/Limit\n *-> {2}Index Scan using event_todo_to_publish on event_todo$/),
      expect.stringMatching(/Limit\n *-> {2}Index Scan using event_todo_to_fan_out on event_todo$/),
      expect.stringMatching(
        /Merge Append\n.*(\n *-> {2}Index Scan using outbox_event_of_all_\w+ .*\n *Index Cond: \(feed_position >= .*){2,}$/,
      ),
      expect.stringMatching(
        /Limit(.|\n)*Merge Append\n.*(\n *-> {2}Index Only Scan using delivery_due_\w+ on delivery_\w+ \w+\n *Index Cond: \(\(endpoint_id = .*){2,}$/,
      ),
    ]);
  });
});

describe("delivery attempts", () => {
  it("are counted by outcome and by the breaker before them, with their duration and the delivery's", async () => {
    await harness.addEndpoint({ merchantId, url: receiver.url });
    const answers = [
      { status: 500 },
      { status: 429 },
      "reset",
      { status: 404 },
      { status: 302 },
      { status: 200 },
    ] as const;
    for (const answer of answers) {
      await harness.rows("UPDATE endpoint SET probe_at = now() WHERE probe_at IS NOT NULL");
      receiver.answerWith(answer);
      await emitAndFanOut();
      expect(await deliverSeen()).toHaveLength(1);
    }
    const samples = await read();
    const attempts = (outcome: string, endpointClass = "healthy") =>
      samples[named("webhook_delivery_attempts_total", `outcome="${outcome}",endpoint_class="${endpointClass}"`)];
    expect(["5xx", "429", "connection_lost", "4xx", "3xx"].map((outcome) => attempts(outcome))).toEqual([
      1, 1, 1, 1, 1,
    ]);
    expect([attempts("2xx"), attempts("2xx", "failing")]).toEqual([0, 1]);
    expect(samples[named("webhook_delivery_attempt_duration_seconds_count")]).toBe(6);
    expect(samples[ofClass("webhook_delivery_seconds_count", "failing")]).toBe(1);
    expect(samples[ofClass("webhook_delivery_seconds_count", "healthy")]).toBeUndefined();
  });

  it("take the latency from the event to its first 2xx answer, retries included", async () => {
    await harness.addEndpoint({ merchantId, url: receiver.url });
    receiver.answerWith({ status: 503 });
    await emitAndFanOut();
    await deliverSeen();
    await harness.setClockAhead("20 seconds");
    receiver.answerWith({ status: 204 });
    await deliverSeen();
    const samples = await read();
    expect(samples[ofClass("webhook_delivery_seconds_sum", "healthy")]).toBeGreaterThanOrEqual(20);
    expect(samples[ofClass("webhook_delivery_seconds_sum", "healthy")]).toBeLessThan(40);
  });

  it("count the deliveries that are abandoned and the endpoints that are disabled", async () => {
    await harness.addEndpoint({ merchantId, url: receiver.url });
    await emitAndFanOut();
    await harness.rows("UPDATE delivery SET tries = 9 WHERE status = 'PENDING'");
    receiver.answerWith({ status: 410 });
    await deliverSeen();
    const samples = await read();
    expect(samples[named("webhook_deliveries_exhausted_total")]).toBe(1);
    expect(samples[named("webhook_endpoints_disabled_total", 'reason="GONE"')]).toBe(1);
    expect(samples[named("webhook_delivery_attempts_total", 'outcome="410",endpoint_class="healthy"')]).toBe(1);
    expect(samples[ofClass("webhook_endpoints", "disabled")]).toBe(1);
  });
});

describe("the stream", () => {
  it("shows its state and the messages not yet fetched by the workers, and no lag that cannot be known", async () => {
    await streamWatch.checkOnce();
    await (await link.connection().jetstreamManager()).streams.purge(stream.name);
    await link.connection().jetstream().publish("payments.test.v1.x.y", "waits");
    const samples = await read();
    expect(samples[named("event_stream_state", 'state="in_order"')]).toBe(1);
    expect(samples[named("event_stream_state", 'state="refused"')]).toBe(0);
    expect(samples[named("nats_connected")]).toBe(1);
    expect(samples[named("event_consumer_pending")]).toBe(1);
    expect(samples[named("event_consumer_unacknowledged")]).toBe(0);
    await (await link.connection().jetstreamManager()).streams.delete(stream.name);
    const gone = await read();
    expect(gone[named("event_consumer_pending")]).toBeUndefined();
    expect(gone[named("nats_connected")]).toBe(1);
  });
});

describe("mails of endpoint alerts", () => {
  it("are counted by the mail server's answer, from 0 on", async () => {
    metrics.countMail("test", "failed");
    metrics.countMail("test", "failed");
    metrics.countMail("test", "taken");
    const now = await read();
    const mails = (outcome: string) => now[`switchyard_alert_mails_total{environment="test",outcome="${outcome}"}`];
    expect([mails("taken"), mails("refused"), mails("failed")]).toEqual([1, 0, 2]);
  });
});

describe("GET /ready", () => {
  it("is 503 with a remedy while something is out of order", async () => {
    const readiness = vi.fn(() => ({ isReady: true, lines: ["test: event stream in_order"] }));
    const server = createMetricsServer({
      registry,
      refresh: async () => {},
      readiness,
      reportBug: () => {},
      reportUnread: () => {},
    });
    onTestFinished(() => void server.close());
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const get = async () => {
      const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/ready`);
      return [response.status, await response.text()];
    };
    expect(await get()).toEqual([200, "test: event stream in_order\n"]);
    readiness.mockReturnValue({ isReady: false, lines: ["test: event stream PAYMENTS_TEST_V1 is sealed"] });
    expect(await get()).toEqual([503, "test: event stream PAYMENTS_TEST_V1 is sealed\n"]);
  });
});
