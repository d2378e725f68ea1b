import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { encodeId } from "../platform/ids.ts";
import { Receiver } from "../testing/receiver.ts";
import { deliverOnce } from "./deliver.ts";
import { acknowledgeNotice, listNotices, raiseWarningsOnce } from "./endpoint-notices.ts";
import { enableEndpoint, pauseEndpoint } from "./endpoint-status.ts";
import { fanOut } from "./fan-out.ts";
import { type EventsBed, openEventsBed } from "./testing/events-bed.ts";

let bed: EventsBed;
let receiver: Receiver;
let endpoint: Awaited<ReturnType<EventsBed["addEndpoint"]>>;
const log = { warn: vi.fn() };

beforeAll(async () => {
  bed = await openEventsBed();
});
afterAll(() => bed.close());
beforeEach(async () => {
  await bed.setClockAhead("0 seconds");
  await bed.rows("UPDATE delivery SET status = 'EXHAUSTED', next_at = NULL, lease_token = NULL, ended_at = now()");
  await bed.rows("UPDATE endpoint SET status = 'REMOVED', disabled_at = NULL, disabled_because = NULL");
  log.warn.mockClear();
  receiver = await Receiver.start();
  endpoint = await bed.addEndpoint({ merchantId: bed.context.entropy.uuid(), url: `${receiver.url}/hook` });
  return () => receiver.close();
});

const raise = () => raiseWarningsOnce({ ...bed.context, log });
const notices = async (includeAcknowledged = true) =>
  listNotices(bed.context.database, {
    merchantId: endpoint.merchantId,
    includeAcknowledged,
    after: undefined,
    count: 20,
  });
const kinds = async () => (await notices()).map(({ kind }) => kind);

/** Posts one new event, which the receiver answers as it was told. */
async function post() {
  const { sessionId } = await bed.tell({ merchantId: endpoint.merchantId });
  await fanOut(bed.context.database, [{ sessionId, sequence: 1 }]);
  // The breaker lets one probe through at its time, which is not what these tests are about.
  await bed.rows("UPDATE endpoint SET probe_at = now() WHERE id = $1 AND probe_at IS NOT NULL", [endpoint.endpointId]);
  return deliverOnce(bed.context);
}

/** Fails as often as opens the breaker, and lets that much time pass since. */
async function failFor(interval: string): Promise<void> {
  receiver.answerWith({ status: 503 });
  for (let count = 0; count < 5; count++) await post();
  await bed.setClockAhead(interval);
}

describe("raiseWarningsOnce()", () => {
  it("warns after 24 hours and after 72, once each, whoever asks how often", async () => {
    await failFor("23 hours 59 minutes");
    await raise();
    expect(await kinds()).toEqual([]);
    await bed.setClockAhead("24 hours 1 minute");
    await Promise.all([raise(), raise(), raise(), raise()]);
    expect(await kinds()).toEqual(["FAILING_24_HOURS"]);
    await bed.setClockAhead("72 hours 1 minute");
    await Promise.all([raise(), raise(), raise(), raise()]);
    await raise();
    expect(await kinds()).toEqual(["FAILING_72_HOURS", "FAILING_24_HOURS"]);
    expect((await notices())[0]).toMatchObject({
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

  it("warns anew of an episode that began after a 2xx answer", async () => {
    await failFor("25 hours");
    await raise();
    receiver.answerWith({ status: 200 });
    await post();
    expect(await notices()).toMatchObject([{ kind: "FAILING_24_HOURS", isOver: true }]);
    await bed.setClockAhead("80 hours");
    await raise();
    expect(await kinds()).toEqual(["FAILING_24_HOURS"]);
    receiver.answerWith("reset");
    for (let count = 0; count < 5; count++) await post();
    await bed.setClockAhead("105 hours");
    await raise();
    expect(await notices()).toMatchObject([
      { kind: "FAILING_24_HOURS", isOver: false, statusCode: null, noAnswer: "connection_lost" },
      { kind: "FAILING_24_HOURS", isOver: true },
    ]);
  });

  it("gives the later warning alone when nobody looked before", async () => {
    await failFor("73 hours");
    await raise();
    expect(await kinds()).toEqual(["FAILING_72_HOURS"]);
  });

  it("says nothing of an endpoint that failed now and then, or that its owner has paused", async () => {
    receiver.answerWith({ status: 503 });
    for (let count = 0; count < 4; count++) await post();
    await bed.setClockAhead("25 hours");
    await raise();
    await post();
    await bed.change((tx) => pauseEndpoint(tx, endpoint));
    await raise();
    expect(await kinds()).toEqual([]);
  });

  it("finds what fails by an index of that alone", async () => {
    await bed.rows("SET enable_seqscan = off");
    const asked: string[] = [];
    const database = Object.create(bed.context.database, {
      query: {
        value: async ({ text }: { text: string }) => {
          asked.push(text);
          return [];
        },
      },
    });
    await raiseWarningsOnce({ ...bed.context, database, log });
    const plan = await bed.rows<{ "QUERY PLAN": string }>(`EXPLAIN (GENERIC_PLAN, COSTS OFF) ${asked[0]}`);
    await bed.rows("RESET enable_seqscan");
    const lines = plan.map((line) => line["QUERY PLAN"]).join("\n");
    expect(lines).toMatch(/Index Scan using endpoint_failing on endpoint e\n *Index Cond: \(failing_since <=/);
    expect(lines).toMatch(/Index Scan.* delivery_attempt_of_endpoint/);
  });
});

describe("a try that disables", () => {
  it("leaves a notice with the disabling, by 410 in the first failure", async () => {
    receiver.answerWith({ status: 410 });
    await post();
    const [row] = await bed.rows<{ status: string; failing_since: Date }>("SELECT * FROM endpoint WHERE id = $1", [
      endpoint.endpointId,
    ]);
    expect(row?.status).toBe("DISABLED");
    expect(await notices()).toMatchObject([
      { kind: "DISABLED_GONE", statusCode: 410, failingSince: row?.failing_since, isOver: false },
    ]);
  });

  it("leaves a notice after five days of failures, and another one in the next episode", async () => {
    for (let episode = 1; episode <= 2; episode++) {
      receiver.answerWith({ status: 200 });
      await post();
      receiver.answerWith({ status: 500 });
      for (let count = 0; count < 9; count++) await post();
      await bed.setClockAhead(`${episode * 125} hours`);
      await post();
      await raise();
      expect(await kinds()).toEqual(Array(episode).fill("DISABLED_FAILING"));
      await bed.change((tx) => enableEndpoint(tx, endpoint));
    }
    expect((await notices()).map(({ isOver }) => isOver)).toEqual([true, true]);
  });
});

describe("acknowledgeNotice()", () => {
  it("notes who saw it first and takes it from the list, for its merchant alone", async () => {
    await failFor("25 hours");
    await raise();
    const [notice] = await notices(false);
    const { database } = bed.context;
    const seen = { id: notice!.id, merchantId: endpoint.merchantId };
    const another = { ...seen, merchantId: bed.context.entropy.uuid(), by: "eve" };
    await expect(acknowledgeNotice(database, another)).rejects.toMatchObject({ code: "not_found" });
    await acknowledgeNotice(database, { ...seen, by: "ada" });
    expect(await acknowledgeNotice(database, { ...seen, by: "bob" })).toMatchObject({ acknowledgedBy: "ada" });
    expect(await notices(false)).toEqual([]);
    expect(await notices(true)).toMatchObject([{ id: notice!.id, acknowledgedAt: expect.any(Date) }]);
  });
});
