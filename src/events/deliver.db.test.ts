import { Webhook } from "standardwebhooks";
import { beforeEach, describe, expect, it } from "vitest";
import { deliverOnce } from "../dev/testing/events/deliver-once.ts";
import { type EventsHarness, openEventsHarness } from "../dev/testing/events/events-harness.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { type Answer, Receiver } from "../dev/testing/receiver.ts";
import { createStrictLog } from "../dev/testing/strict-log.ts";
import { TraceCollector } from "../dev/testing/trace-collector.ts";
import { encodeId } from "../platform/ids.ts";
import { openOtlpTracing } from "../platform/otlp-tracing.ts";
import { spanIdOf, traceIdOf } from "../platform/telemetry.ts";
import { deliver } from "./deliver.ts";
import { claimDeliveries } from "./delivery-pool.ts";
import { triesMax } from "./retry-schedule.ts";

let receiver: Receiver;
let merchantId: string;
let endpoint: Awaited<ReturnType<EventsHarness["addEndpoint"]>>;

const harness = await forFile(openEventsHarness);
beforeEach(async () => {
  await harness.setClockAhead("0 seconds");
  await harness.rows("UPDATE delivery SET status = 'EXHAUSTED', next_at = NULL, lease_token = NULL, ended_at = now()");
  receiver = await Receiver.start();
  merchantId = harness.context.runtime.uuid();
  endpoint = await harness.addEndpoint({ merchantId, url: `${receiver.url}/hook` });
  receiver.requests.length = 0;
  return () => receiver.close();
});

const emitAndFanOut = (sessionId?: string) => harness.emitAndFanOut(merchantId, sessionId);

type DeliveryRow = { status: string; tries: number; pause: number | null };
const deliveryOf = async (eventId: string) =>
  (
    await harness.rows<DeliveryRow>(
      `SELECT status, tries, extract(epoch FROM next_at - app.clock())::float8 AS pause FROM delivery WHERE event_id = $1`,
      [eventId],
    )
  )[0];
/** Returns a time by the database, in seconds since 1970. */
const seconds = async (moment: string, values: unknown[] = []) =>
  (await harness.rows<{ at: number }>(`SELECT extract(epoch FROM ${moment})::float8 AS at`, values))[0]!.at;
const endpointRow = async () =>
  (
    await harness.rows<{ status: string; disabled_reason: string; in_flight_max: number; failures_in_row: number }>(
      "SELECT * FROM endpoint WHERE id = $1",
      [endpoint.endpointId],
    )
  )[0];
const idsReceived = () => receiver.requests.map((request) => request.headers["webhook-id"]);

describe("deliver()", () => {
  it("posts the event's exact bytes, signed so that the stock verifier accepts them", async () => {
    const { eventId } = await emitAndFanOut();
    expect(await deliverOnce(harness.context)).toEqual([{ type: "succeeded", slow: false }]);
    const [request] = receiver.requests;
    const [outbox] = await harness.rows<{ body: Buffer }>("SELECT body FROM outbox_event WHERE id = $1", [eventId]);
    expect(request).toMatchObject({ method: "POST", path: "/hook", body: outbox?.body });
    expect(request?.headers).toMatchObject({
      "content-type": "application/json",
      "webhook-id": encodeId("evt", eventId),
    });
    const secret = endpoint.signingSecret.expose();
    const verifier = new Webhook(secret.slice(secret.indexOf("whsec_")));
    const verified = verifier.verify(request!.body, request!.headers as Record<string, string>);
    expect(verified).toMatchObject({ data: { sequence: 1 } });
    expect(await deliveryOf(eventId)).toEqual({ status: "SUCCEEDED", tries: 1, pause: null });
  });

  it("traces an attempt below its event, and reveals nothing of it to the endpoint", async () => {
    const collector = await TraceCollector.start();
    const service = { name: "switchyard", role: "worker", version: "1" };
    const tracing = openOtlpTracing({ endpoint: collector.origin, service, ratio: 1, log: createStrictLog() });
    const { sessionId, eventId } = await emitAndFanOut();
    receiver.answerWith({ status: 503 });
    await deliverOnce({ ...harness.context, tracing });
    await tracing.close();
    await collector.close();
    expect(collector.spans).toEqual([
      expect.objectContaining({
        name: "webhook.deliver",
        traceId: traceIdOf(sessionId),
        parentId: spanIdOf(eventId),
        attributes: {
          "payment.session_id": encodeId("ps", sessionId),
          "payment.outcome": "5xx",
          "event.id": encodeId("evt", eventId),
          "webhook.endpoint_id": encodeId("we", endpoint.endpointId),
          "webhook.tries": 1,
          "http.response.status_code": 503,
        },
      }),
    ]);
    expect(receiver.requests[0]?.rawHeaders.join()).not.toMatch(/trace/i);
  });

  it("logs each attempt with status, time and the beginning of the answer", async () => {
    receiver.answerWith({ status: 500, body: `order 4111111111111111 unknown ${"x".repeat(5_000)}` });
    const { eventId } = await emitAndFanOut();
    await deliverOnce(harness.context);
    const [attempt] = await harness.rows<{ status_code: number; answer: string; duration_ms: number }>(
      "SELECT * FROM delivery_attempt WHERE event_id = $1",
      [eventId],
    );
    expect(attempt).toMatchObject({
      status_code: 500,
      answer: expect.stringMatching(/^order \[redacted\] unknown x+$/),
    });
    expect(attempt?.answer.length).toBeLessThanOrEqual(1024);
  });

  it.each<{ answer: Answer; reason: string }>([
    { answer: { status: 500 }, reason: "an error" },
    { answer: { status: 302, headers: { location: "/elsewhere" } }, reason: "a redirect, which is not followed" },
    { answer: "reset", reason: "a broken connection" },
  ])("retries about 5 s after $reason", async ({ answer }) => {
    receiver.answerWith(answer);
    const { eventId } = await emitAndFanOut();
    const before = await seconds("app.clock()");
    await deliverOnce(harness.context);
    const after = await seconds("app.clock()");
    expect(await deliverOnce(harness.context)).toEqual([]);
    expect(await deliveryOf(eventId)).toMatchObject({ status: "PENDING", tries: 1 });
    const nextAt = await seconds("(SELECT next_at FROM delivery WHERE event_id = $1)", [eventId]);
    expect(nextAt).toBeGreaterThan(before + 4.49);
    expect(nextAt).toBeLessThan(after + 5.51);
    receiver.answerWith({ status: 204 });
    await harness.setClockAhead("6 seconds");
    await deliverOnce(harness.context);
    expect(await deliveryOf(eventId)).toMatchObject({ status: "SUCCEEDED", tries: 2 });
    expect(new Set(idsReceived())).toEqual(new Set([encodeId("evt", eventId)]));
    expect(receiver.requests.map((request) => request.path)).toEqual(["/hook", "/hook"]);
  });

  it("gives up after the last attempt and keeps the delivery", async () => {
    receiver.answerWith({ status: 500 });
    const { eventId } = await emitAndFanOut();
    await harness.rows("UPDATE delivery SET tries = $2 WHERE event_id = $1", [eventId, triesMax - 1]);
    await deliverOnce(harness.context);
    expect(await deliveryOf(eventId)).toEqual({ status: "EXHAUSTED", tries: triesMax, pause: null });
  });

  it("disables an endpoint that answers 410 and posts nothing more to it", async () => {
    receiver.answerWith({ status: 410 });
    await emitAndFanOut();
    await deliverOnce(harness.context);
    expect(await endpointRow()).toMatchObject({ status: "DISABLED", disabled_reason: "GONE" });
    const { eventId } = await emitAndFanOut();
    expect(await deliverOnce(harness.context)).toEqual([]);
    expect(await deliveryOf(eventId)).toMatchObject({ status: "PENDING", tries: 0 });
  });

  it("disables an endpoint after 5 days of failures", async () => {
    receiver.answerWith({ status: 500 });
    await emitAndFanOut();
    const failedForDays =
      "UPDATE endpoint SET failures_in_row = $2, failing_since = now() - interval '121 hours' WHERE id = $1";
    await harness.rows(failedForDays, [endpoint.endpointId, 9]);
    await deliverOnce(harness.context);
    expect(await endpointRow()).toMatchObject({ status: "DISABLED", disabled_reason: "FAILING" });
  });

  it("makes a session's first attempts in sequence, and lets no event that failed block the next", async () => {
    const { sessionId, eventId: first } = await emitAndFanOut();
    const { eventId: second } = await emitAndFanOut(sessionId);
    receiver.answerWith({ status: 500 });
    await deliverOnce(harness.context);
    expect(idsReceived()).toEqual([encodeId("evt", first)]);
    receiver.answerWith({ status: 200 });
    await deliverOnce(harness.context);
    expect(idsReceived()).toEqual([encodeId("evt", first), encodeId("evt", second)]);
    expect(await deliveryOf(first)).toMatchObject({ status: "PENDING", tries: 1 });
  });

  it("keeps deliveries to one endpoint within its window, which grows by success and halves by failure", async () => {
    for (let count = 0; count < 6; count++) await emitAndFanOut();
    expect(await deliverOnce(harness.context)).toHaveLength(4);
    expect(await endpointRow()).toMatchObject({ in_flight_max: 8 });
    receiver.answerWith({ status: 500 });
    await deliverOnce(harness.context);
    expect(await endpointRow()).toMatchObject({ in_flight_max: 2 });
  });

  it("opens the breaker after 5 failures in a row and then lets single probes through, using no attempts", async () => {
    const emitted = [];
    for (let count = 0; count < 7; count++) emitted.push(await emitAndFanOut());
    receiver.answerWith({ status: 500 });
    await harness.rows("UPDATE endpoint SET in_flight_max = 5 WHERE id = $1", [endpoint.endpointId]);
    expect(await deliverOnce(harness.context)).toHaveLength(5);
    expect(await deliverOnce(harness.context)).toEqual([]);
    await harness.setClockAhead("6 seconds");
    expect(await deliverOnce(harness.context)).toHaveLength(1);
    expect(await deliverOnce(harness.context)).toEqual([]);
    receiver.answerWith({ status: 200 });
    await harness.setClockAhead("20 seconds");
    expect(await deliverOnce(harness.context)).toHaveLength(1);
    expect(await endpointRow()).toMatchObject({ failures_in_row: 0 });
    const tries = await Promise.all(emitted.map(async ({ eventId }) => (await deliveryOf(eventId))?.tries));
    expect(tries.reduce<number>((sum, count) => sum + (count ?? 0), 0)).toBe(7);
  });
});

describe("the lease of deliver()", () => {
  const claim = async () => {
    const leaseToken = harness.context.runtime.uuid();
    return (await claimDeliveries(harness.context.database, { leaseToken, limit: 10 }))[0]!;
  };

  it("is repeated under the same id when a worker died after sending, and only after the lease", async () => {
    const { eventId } = await emitAndFanOut();
    await claim();
    expect(await deliverOnce(harness.context)).toEqual([]);
    await harness.setClockAhead("36 seconds");
    expect(await deliverOnce(harness.context)).toHaveLength(1);
    expect(await deliveryOf(eventId)).toMatchObject({ status: "SUCCEEDED", tries: 1 });
  });

  it("writes nothing when its lease was lost", async () => {
    const { eventId } = await emitAndFanOut();
    const lost = await claim();
    await harness.setClockAhead("36 seconds");
    await deliverOnce(harness.context);
    receiver.answerWith({ status: 500 });
    expect(await deliver(harness.context, lost)).toEqual({ type: "leaseLost" });
    expect(await deliveryOf(eventId)).toMatchObject({ status: "SUCCEEDED", tries: 1 });
    expect(new Set(idsReceived())).toEqual(new Set([encodeId("evt", eventId)]));
    expect(await harness.rows("SELECT FROM delivery_attempt WHERE event_id = $1", [eventId])).toHaveLength(1);
  });
});
