import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { encodeId } from "../platform/ids.ts";
import { openOtlpTracing } from "../platform/otlp-tracing.ts";
import { spanIdOf, traceIdOf } from "../platform/telemetry.ts";
import { type Answer, Receiver } from "../testing/receiver.ts";
import { createStrictLog } from "../testing/strict-log.ts";
import { TraceCollector } from "../testing/trace-collector.ts";
import { claimDeliveries } from "./claim-deliveries.ts";
import { deliver, deliverOnce } from "./deliver.ts";
import { fanOut } from "./fan-out.ts";
import { triesMax } from "./retry-schedule.ts";
import { type EventsBed, openEventsBed } from "./testing/events-bed.ts";

let bed: EventsBed;
let receiver: Receiver;
let merchantId: string;
let endpoint: Awaited<ReturnType<EventsBed["addEndpoint"]>>;

beforeAll(async () => {
  bed = await openEventsBed();
});
afterAll(() => bed.close());
beforeEach(async () => {
  await bed.setClockAhead("0 seconds");
  await bed.rows("UPDATE delivery SET status = 'EXHAUSTED', next_at = NULL, lease_token = NULL, ended_at = now()");
  receiver = await Receiver.start();
  merchantId = bed.context.entropy.uuid();
  endpoint = await bed.addEndpoint({ merchantId, url: `${receiver.url}/hook` });
  receiver.requests.length = 0;
  return () => receiver.close();
});

/** Records an event of a session and makes its deliveries, as the worker would. */
async function tellAndFanOut(sessionId?: string) {
  const told = await bed.tell({ merchantId, ...(sessionId !== undefined && { sessionId }) });
  await fanOut(bed.context.database, [{ sessionId: told.sessionId, sequence: 99 }]);
  return told;
}

type DeliveryRow = { status: string; tries: number; pause: number | null };
const deliveryOf = async (eventId: string) =>
  (
    await bed.rows<DeliveryRow>(
      `SELECT status, tries, extract(epoch FROM next_at - app.clock())::float8 AS pause FROM delivery WHERE event_id = $1`,
      [eventId],
    )
  )[0];
/** A moment by the database, in seconds since 1970. */
const seconds = async (moment: string, values: unknown[] = []) =>
  (await bed.rows<{ at: number }>(`SELECT extract(epoch FROM ${moment})::float8 AS at`, values))[0]!.at;
const endpointRow = async () =>
  (
    await bed.rows<{ status: string; disabled_because: string; in_flight_max: number; failures_in_row: number }>(
      "SELECT * FROM endpoint WHERE id = $1",
      [endpoint.endpointId],
    )
  )[0];
const idsReceived = () => receiver.requests.map((request) => request.headers["webhook-id"]);

describe("deliverOnce()", () => {
  it("posts the event's exact bytes, signed so that the stock verifier accepts them", async () => {
    const { eventId } = await tellAndFanOut();
    expect(await deliverOnce(bed.context)).toEqual([{ kind: "succeeded", slow: false }]);
    const [request] = receiver.requests;
    const [outbox] = await bed.rows<{ body: Buffer }>("SELECT body FROM outbox_event WHERE id = $1", [eventId]);
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

  it("traces a try below its event, and tells the endpoint nothing of it", async () => {
    const collector = await TraceCollector.start();
    const service = { name: "switchyard", role: "worker", version: "1" };
    const tracing = openOtlpTracing({ endpoint: collector.origin, service, ratio: 1, log: createStrictLog() });
    const { sessionId, eventId } = await tellAndFanOut();
    receiver.answerWith({ status: 503 });
    await deliverOnce({ ...bed.context, tracing });
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

  it("logs each try with status, time and the beginning of the answer", async () => {
    receiver.answerWith({ status: 500, body: `order 4111111111111111 unknown ${"x".repeat(5_000)}` });
    const { eventId } = await tellAndFanOut();
    await deliverOnce(bed.context);
    const [tried] = await bed.rows<{ status_code: number; answer: string; duration_ms: number }>(
      "SELECT * FROM delivery_attempt WHERE event_id = $1",
      [eventId],
    );
    expect(tried).toMatchObject({ status_code: 500, answer: expect.stringMatching(/^order \[redacted\] unknown x+$/) });
    expect(tried?.answer.length).toBeLessThanOrEqual(1024);
  });

  it.each<{ answer: Answer; because: string }>([
    { answer: { status: 500 }, because: "an error" },
    { answer: { status: 302, headers: { location: "/elsewhere" } }, because: "a redirect, which is not followed" },
    { answer: "reset", because: "a broken connection" },
  ])("tries again about 5 s after $because", async ({ answer }) => {
    receiver.answerWith(answer);
    const { eventId } = await tellAndFanOut();
    const before = await seconds("app.clock()");
    await deliverOnce(bed.context);
    const after = await seconds("app.clock()");
    expect(await deliverOnce(bed.context)).toEqual([]);
    expect(await deliveryOf(eventId)).toMatchObject({ status: "PENDING", tries: 1 });
    const nextAt = await seconds("(SELECT next_at FROM delivery WHERE event_id = $1)", [eventId]);
    expect(nextAt).toBeGreaterThan(before + 4.49);
    expect(nextAt).toBeLessThan(after + 5.51);
    receiver.answerWith({ status: 204 });
    await bed.setClockAhead("6 seconds");
    await deliverOnce(bed.context);
    expect(await deliveryOf(eventId)).toMatchObject({ status: "SUCCEEDED", tries: 2 });
    expect(new Set(idsReceived())).toEqual(new Set([encodeId("evt", eventId)]));
    expect(receiver.requests.map((request) => request.path)).toEqual(["/hook", "/hook"]);
  });

  it("gives up after the last try and keeps the delivery", async () => {
    receiver.answerWith({ status: 500 });
    const { eventId } = await tellAndFanOut();
    await bed.rows("UPDATE delivery SET tries = $2 WHERE event_id = $1", [eventId, triesMax - 1]);
    await deliverOnce(bed.context);
    expect(await deliveryOf(eventId)).toEqual({ status: "EXHAUSTED", tries: triesMax, pause: null });
  });

  it("disables an endpoint that answers 410 and posts nothing more to it", async () => {
    receiver.answerWith({ status: 410 });
    await tellAndFanOut();
    await deliverOnce(bed.context);
    expect(await endpointRow()).toMatchObject({ status: "DISABLED", disabled_because: "GONE" });
    const { eventId } = await tellAndFanOut();
    expect(await deliverOnce(bed.context)).toEqual([]);
    expect(await deliveryOf(eventId)).toMatchObject({ status: "PENDING", tries: 0 });
  });

  it("disables an endpoint after 5 days of failures", async () => {
    receiver.answerWith({ status: 500 });
    await tellAndFanOut();
    const failing =
      "UPDATE endpoint SET failures_in_row = $2, failing_since = now() - interval '121 hours' WHERE id = $1";
    await bed.rows(failing, [endpoint.endpointId, 9]);
    await deliverOnce(bed.context);
    expect(await endpointRow()).toMatchObject({ status: "DISABLED", disabled_because: "FAILING" });
  });

  it("sends a session's first tries in sequence, and lets no failing event block the next", async () => {
    const { sessionId, eventId: first } = await tellAndFanOut();
    const { eventId: second } = await tellAndFanOut(sessionId);
    receiver.answerWith({ status: 500 });
    await deliverOnce(bed.context);
    expect(idsReceived()).toEqual([encodeId("evt", first)]);
    receiver.answerWith({ status: 200 });
    await deliverOnce(bed.context);
    expect(idsReceived()).toEqual([encodeId("evt", first), encodeId("evt", second)]);
    expect(await deliveryOf(first)).toMatchObject({ status: "PENDING", tries: 1 });
  });

  it("keeps no more under way at one endpoint than its window, which grows by success and halves by failure", async () => {
    for (let count = 0; count < 6; count++) await tellAndFanOut();
    expect(await deliverOnce(bed.context)).toHaveLength(4);
    expect(await endpointRow()).toMatchObject({ in_flight_max: 8 });
    receiver.answerWith({ status: 500 });
    await deliverOnce(bed.context);
    expect(await endpointRow()).toMatchObject({ in_flight_max: 2 });
  });

  it("opens the breaker after 5 failures in a row and then lets through one probe at a time, using up no tries", async () => {
    const told = [];
    for (let count = 0; count < 7; count++) told.push(await tellAndFanOut());
    receiver.answerWith({ status: 500 });
    await bed.rows("UPDATE endpoint SET in_flight_max = 5 WHERE id = $1", [endpoint.endpointId]);
    expect(await deliverOnce(bed.context)).toHaveLength(5);
    expect(await deliverOnce(bed.context)).toEqual([]);
    await bed.setClockAhead("6 seconds");
    expect(await deliverOnce(bed.context)).toHaveLength(1);
    expect(await deliverOnce(bed.context)).toEqual([]);
    receiver.answerWith({ status: 200 });
    await bed.setClockAhead("20 seconds");
    expect(await deliverOnce(bed.context)).toHaveLength(1);
    expect(await endpointRow()).toMatchObject({ failures_in_row: 0 });
    const tries = await Promise.all(told.map(async ({ eventId }) => (await deliveryOf(eventId))?.tries));
    expect(tries.reduce<number>((sum, count) => sum + (count ?? 0), 0)).toBe(7);
  });
});

describe("deliver()", () => {
  const claim = async () => {
    const leaseToken = bed.context.entropy.uuid();
    return (await claimDeliveries(bed.context.database, { leaseToken, limit: 10 }))[0]!;
  };

  it("is repeated under the same id when a worker died after sending, and only after the lease", async () => {
    const { eventId } = await tellAndFanOut();
    await claim();
    expect(await deliverOnce(bed.context)).toEqual([]);
    await bed.setClockAhead("36 seconds");
    expect(await deliverOnce(bed.context)).toHaveLength(1);
    expect(await deliveryOf(eventId)).toMatchObject({ status: "SUCCEEDED", tries: 1 });
  });

  it("writes nothing when its lease was lost", async () => {
    const { eventId } = await tellAndFanOut();
    const lost = await claim();
    await bed.setClockAhead("36 seconds");
    await deliverOnce(bed.context);
    receiver.answerWith({ status: 500 });
    expect(await deliver(bed.context, lost)).toEqual({ kind: "lease_lost" });
    expect(await deliveryOf(eventId)).toMatchObject({ status: "SUCCEEDED", tries: 1 });
    expect(new Set(idsReceived())).toEqual(new Set([encodeId("evt", eventId)]));
    expect(await bed.rows("SELECT FROM delivery_attempt WHERE event_id = $1", [eventId])).toHaveLength(1);
  });
});
