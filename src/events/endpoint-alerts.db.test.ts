import { beforeEach, describe, expect, it, vi } from "vitest";
import { deliverOnce } from "../dev/testing/events/deliver-once.ts";
import { type EventsHarness, openEventsHarness } from "../dev/testing/events/events-harness.ts";
import { fanOut } from "../dev/testing/events/fan-out.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { Receiver } from "../dev/testing/receiver.ts";
import { encodeId } from "../platform/ids.ts";
import { acknowledgeAlert, listAlerts, raiseWarningsOnce } from "./endpoint-alerts.ts";
import { enableEndpoint, pauseEndpoint } from "./endpoint-status.ts";

let receiver: Receiver;
let endpoint: Awaited<ReturnType<EventsHarness["addEndpoint"]>>;
const log = { warn: vi.fn() };

const harness = await forFile(openEventsHarness);
beforeEach(async () => {
  await harness.setClockAhead("0 seconds");
  await harness.rows("UPDATE delivery SET status = 'EXHAUSTED', next_at = NULL, lease_token = NULL, ended_at = now()");
  await harness.rows("UPDATE endpoint SET status = 'REMOVED', disabled_at = NULL, disabled_reason = NULL");
  log.warn.mockClear();
  receiver = await Receiver.start();
  endpoint = await harness.addEndpoint({ merchantId: harness.context.runtime.uuid(), url: `${receiver.url}/hook` });
  return () => receiver.close();
});

const raise = () => raiseWarningsOnce({ ...harness.context, log });
const alerts = async (includeAcknowledged = true) =>
  listAlerts(harness.context.database, {
    merchantId: endpoint.merchantId,
    includeAcknowledged,
    after: undefined,
    count: 20,
  });
const kinds = async () => (await alerts()).map(({ kind }) => kind);

/** Posts one new event, to which the receiver gives its configured answer. */
async function post() {
  const { sessionId } = await harness.emit({ merchantId: endpoint.merchantId });
  await fanOut(harness.context.database, [{ sessionId, sequence: 1 }]);
  // The breaker's pause before a probe is not the subject of these tests.
  await harness.rows("UPDATE endpoint SET probe_at = now() WHERE id = $1 AND probe_at IS NOT NULL", [
    endpoint.endpointId,
  ]);
  return deliverOnce(harness.context);
}

/** Fails often enough to open the breaker, and lets that much time pass. */
async function failFor(interval: string): Promise<void> {
  receiver.answerWith({ status: 503 });
  for (let count = 0; count < 5; count++) await post();
  await harness.setClockAhead(interval);
}

describe("raiseWarningsOnce()", () => {
  it("warns after 24 and after 72 hours, once each, however often and concurrently it runs", async () => {
    await failFor("23 hours 59 minutes");
    await raise();
    expect(await kinds()).toEqual([]);
    await harness.setClockAhead("24 hours 1 minute");
    await Promise.all([raise(), raise(), raise(), raise()]);
    expect(await kinds()).toEqual(["FAILING_24_HOURS"]);
    await harness.setClockAhead("72 hours 1 minute");
    await Promise.all([raise(), raise(), raise(), raise()]);
    await raise();
    expect(await kinds()).toEqual(["FAILING_72_HOURS", "FAILING_24_HOURS"]);
    expect((await alerts())[0]).toMatchObject({
      endpointId: endpoint.endpointId,
      url: `${receiver.url}/hook`,
      statusCode: 503,
      noAnswer: null,
      isOver: false,
      acknowledgedAt: null,
    });
    const named = { endpoint: encodeId("we", endpoint.endpointId), failingSince: expect.any(Date) };
    expect(log.warn.mock.calls).toEqual([
      [{ ...named, kind: "FAILING_24_HOURS" }, "a webhook endpoint keeps failing"],
      [{ ...named, kind: "FAILING_72_HOURS" }, "a webhook endpoint keeps failing"],
    ]);
  });

  it("warns again in an episode that began after a 2xx answer", async () => {
    await failFor("25 hours");
    await raise();
    receiver.answerWith({ status: 200 });
    await post();
    expect(await alerts()).toMatchObject([{ kind: "FAILING_24_HOURS", isOver: true }]);
    await harness.setClockAhead("80 hours");
    await raise();
    expect(await kinds()).toEqual(["FAILING_24_HOURS"]);
    receiver.answerWith("reset");
    for (let count = 0; count < 5; count++) await post();
    await harness.setClockAhead("105 hours");
    await raise();
    expect(await alerts()).toMatchObject([
      { kind: "FAILING_24_HOURS", isOver: false, statusCode: null, noAnswer: "connection_lost" },
      { kind: "FAILING_24_HOURS", isOver: true },
    ]);
  });

  it("raises only the later warning when no worker ran before", async () => {
    await failFor("73 hours");
    await raise();
    expect(await kinds()).toEqual(["FAILING_72_HOURS"]);
  });

  it("raises nothing for an endpoint that failed occasionally, or that its owner has paused", async () => {
    receiver.answerWith({ status: 503 });
    for (let count = 0; count < 4; count++) await post();
    await harness.setClockAhead("25 hours");
    await raise();
    await post();
    await harness.change((tx) => pauseEndpoint(tx, endpoint));
    await raise();
    expect(await kinds()).toEqual([]);
  });

  it("finds failing endpoints by an index of those alone", async () => {
    await harness.rows("SET enable_seqscan = off");
    const statements: string[] = [];
    const database = Object.create(harness.context.database, {
      query: {
        value: async ({ text }: { text: string }) => {
          statements.push(text);
          return [];
        },
      },
    });
    await raiseWarningsOnce({ ...harness.context, database, log });
    const plan = await harness.rows<{ "QUERY PLAN": string }>(`EXPLAIN (GENERIC_PLAN, COSTS OFF) ${statements[0]}`);
    await harness.rows("RESET enable_seqscan");
    const lines = plan.map((line) => line["QUERY PLAN"]).join("\n");
    expect(lines).toMatch(/Index Scan using endpoint_failing on endpoint e\n *Index Cond: \(failing_since <=/);
    expect(lines).toMatch(/Index Scan.* delivery_attempt_of_endpoint/);
  });
});

describe("an attempt that disables the endpoint", () => {
  it("writes an alert with the disabling, by 410 in the first failure", async () => {
    receiver.answerWith({ status: 410 });
    await post();
    const [row] = await harness.rows<{ status: string; failing_since: Date }>("SELECT * FROM endpoint WHERE id = $1", [
      endpoint.endpointId,
    ]);
    expect(row?.status).toBe("DISABLED");
    expect(await alerts()).toMatchObject([
      { kind: "DISABLED_GONE", statusCode: 410, failingSince: row?.failing_since, isOver: false },
    ]);
  });

  it("writes an alert after five days of failures, and another one in the next episode", async () => {
    for (let episode = 1; episode <= 2; episode++) {
      receiver.answerWith({ status: 200 });
      await post();
      receiver.answerWith({ status: 500 });
      for (let count = 0; count < 9; count++) await post();
      await harness.setClockAhead(`${episode * 125} hours`);
      await post();
      await raise();
      expect(await kinds()).toEqual(Array(episode).fill("DISABLED_FAILING"));
      await harness.change((tx) => enableEndpoint(tx, endpoint));
    }
    expect((await alerts()).map(({ isOver }) => isOver)).toEqual([true, true]);
  });
});

describe("acknowledgeAlert()", () => {
  it("records the first person and removes the alert from the list, for its merchant alone", async () => {
    await failFor("25 hours");
    await raise();
    const [alert] = await alerts(false);
    const { database } = harness.context;
    const seen = { id: alert!.id, merchantId: endpoint.merchantId };
    const another = { ...seen, merchantId: harness.context.runtime.uuid(), by: "eve" };
    await expect(acknowledgeAlert(database, another)).rejects.toMatchObject({ code: "not_found" });
    await acknowledgeAlert(database, { ...seen, by: "ada" });
    expect(await acknowledgeAlert(database, { ...seen, by: "bob" })).toMatchObject({ acknowledgedBy: "ada" });
    expect(await alerts(false)).toEqual([]);
    expect(await alerts(true)).toMatchObject([{ id: alert!.id, acknowledgedAt: expect.any(Date) }]);
  });
});
