import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { encodeId } from "../platform/ids.ts";
import { TestAuthority } from "../testing/certificates.ts";
import { Receiver } from "../testing/receiver.ts";
import { DeliveryLane } from "./delivery-lane.ts";
import { Egress } from "./egress.ts";
import { fanOut } from "./fan-out.ts";
import { badEndpoints, RunningBadEndpoint } from "./testing/bad-endpoints.ts";
import { writeDueDeliveries } from "./testing/due-deliveries.ts";
import { type EventsBed, loopback, openEventsBed } from "./testing/events-bed.ts";

let bed: EventsBed;
let authority: TestAuthority;
beforeAll(async () => {
  bed = await openEventsBed();
  authority = new TestAuthority("Test Authority");
});
afterAll(async () => {
  authority.close();
  await bed.close();
});

// Twice the product's deadline, and less than a lease: a busy machine is not to decide what comes before it.
const postTimeoutMs = 30_000;
const waitMs = 28_000;

function startLane(): DeliveryLane {
  const egress = new Egress(loopback, { postTimeoutMs });
  const lane = new DeliveryLane({ ...bed.context, egress });
  onTestFinished(async () => {
    await egress.close();
    await lane.close();
    await bed.rows("UPDATE delivery SET status = 'EXHAUSTED', next_at = NULL, lease_token = NULL, ended_at = now()");
  });
  return lane;
}

async function startReceiver(): Promise<Receiver> {
  const receiver = await Receiver.start();
  onTestFinished(() => receiver.close());
  return receiver;
}

/** Tells events to a healthy endpoint through the lane, and waits until each has come. */
async function deliverHealthy(lane: DeliveryLane, count: number): Promise<void> {
  const receiver = await startReceiver();
  const { merchantId, endpointId } = await bed.addEndpoint({
    merchantId: bed.context.entropy.uuid(),
    url: receiver.url,
  });
  const events = await Promise.all(Array.from({ length: count }, () => bed.tell({ merchantId })));
  await fanOut(
    bed.context.database,
    events.map(({ sessionId }) => ({ sessionId, sequence: 1 })),
  );
  lane.hint([endpointId]);
  const told = events.map(({ eventId }) => encodeId("evt", eventId));
  const came = (id: string) => receiver.requests.some(({ headers }) => headers["webhook-id"] === id);
  await receiver.waitFor(() => told.every(came), waitMs);
}

const triesAt = (endpointIds: readonly string[]) =>
  bed.rows("SELECT FROM delivery_attempt WHERE endpoint_id = ANY ($1)", [endpointIds]);

describe("DeliveryLane", { timeout: 60_000 }, () => {
  it("brings what is due to a healthy endpoint beside two of every bad kind, before one that hangs has ended", async () => {
    const hanging: string[] = [];
    for (const kind of Object.values(badEndpoints)) {
      const running = await RunningBadEndpoint.start(kind, authority);
      onTestFinished(() => running.close());
      const rows = await writeDueDeliveries(bed, {
        merchants: 2,
        endpointsEach: 1,
        dueEach: 20,
        sinceSeconds: 60,
        window: 4,
        url: running.url,
      });
      if (kind.takesAllTime && kind.scheme === undefined)
        hanging.push(...rows.flatMap(({ endpointIds }) => endpointIds));
    }
    await deliverHealthy(startLane(), 20);
    expect(await triesAt(hanging)).toEqual([]);
  });

  it("keeps room for others when all endpoints of a big merchant hang at once", async () => {
    const dead = await startReceiver();
    const arrived = dead.waitForCount(128, undefined, waitMs);
    dead.answerWith("hang");
    const big = { merchants: 1, endpointsEach: 16, dueEach: 64, sinceSeconds: 60, url: dead.url };
    const [merchant] = await writeDueDeliveries(bed, big);
    const lane = startLane();
    await arrived;
    await deliverHealthy(lane, 20);
    expect(await triesAt(merchant!.endpointIds)).toEqual([]);
    expect(dead.requests).toHaveLength(128);
  });

  it("keeps room for others when hundreds of merchants' endpoints fail and hang", async () => {
    const dead = await startReceiver();
    const arrived = dead.waitForCount(256, undefined, waitMs);
    dead.answerWith("hang");
    const many = { merchants: 300, endpointsEach: 1, dueEach: 2, sinceSeconds: 60, window: 2, failuresInRow: 1 };
    const rows = await writeDueDeliveries(bed, { ...many, url: dead.url });
    const lane = startLane();
    await arrived;
    await deliverHealthy(lane, 20);
    expect(await triesAt(rows.flatMap(({ endpointIds }) => endpointIds))).toEqual([]);
    expect(dead.requests).toHaveLength(256);
  });

  it("makes room again when more endpoints than it has room for begin to hang at once", async () => {
    const dead = await startReceiver();
    const arrived = dead.waitForCount(512, undefined, waitMs);
    dead.answerWith("hang");
    const host = { merchants: 16, endpointsEach: 1, dueEach: 64, sinceSeconds: 60, url: dead.url };
    const rows = await writeDueDeliveries(bed, host);
    const lane = startLane();
    await arrived;
    await deliverHealthy(lane, 20);
    expect(await triesAt(rows.flatMap(({ endpointIds }) => endpointIds))).toEqual([]);
  });
});
