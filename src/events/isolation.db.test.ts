import { describe, expect, it, onTestFinished } from "vitest";
import { TestAuthority } from "../dev/testing/certificates.ts";
import { badEndpoints, RunningBadEndpoint } from "../dev/testing/events/bad-endpoints.ts";
import { writeDueDeliveries } from "../dev/testing/events/due-deliveries.ts";
import { loopback, openEventsHarness } from "../dev/testing/events/events-harness.ts";
import { fanOut } from "../dev/testing/events/fan-out.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { Receiver } from "../dev/testing/receiver.ts";
import { encodeId } from "../platform/ids.ts";
import { DeliveryPool } from "./delivery-pool.ts";
import { Egress } from "./egress.ts";

const harness = await forFile(openEventsHarness);
const authority = await forFile(() => new TestAuthority("Test Authority"));

// Twice the product's deadline, and less than a lease: a busy machine must not affect the order of results.
const postTimeoutMs = 30_000;
const waitMs = 28_000;

function startDeliveryPool(): DeliveryPool {
  const egress = new Egress(loopback, { postTimeoutMs });
  const deliveryPool = new DeliveryPool({ ...harness.context, egress });
  onTestFinished(async () => {
    await egress.close();
    await deliveryPool.close();
    await harness.rows(
      "UPDATE delivery SET status = 'EXHAUSTED', next_at = NULL, lease_token = NULL, ended_at = now()",
    );
  });
  return deliveryPool;
}

async function startReceiver(): Promise<Receiver> {
  const receiver = await Receiver.start();
  onTestFinished(() => receiver.close());
  return receiver;
}

/** Emits events for a healthy endpoint through the pool, and waits until each has arrived. */
async function deliverHealthy(deliveryPool: DeliveryPool, count: number): Promise<void> {
  const receiver = await startReceiver();
  const { merchantId, endpointId } = await harness.addEndpoint({
    merchantId: harness.context.runtime.uuid(),
    url: receiver.url,
  });
  const events = await Promise.all(Array.from({ length: count }, () => harness.emit({ merchantId })));
  await fanOut(
    harness.context.database,
    events.map(({ sessionId }) => ({ sessionId, sequence: 1 })),
  );
  deliveryPool.hint([endpointId]);
  const eventIds = events.map(({ eventId }) => encodeId("evt", eventId));
  const came = (id: string) => receiver.requests.some(({ headers }) => headers["webhook-id"] === id);
  await receiver.waitFor(() => eventIds.every(came), waitMs);
}

const triesAt = (endpointIds: readonly string[]) =>
  harness.rows("SELECT FROM delivery_attempt WHERE endpoint_id = ANY ($1)", [endpointIds]);

describe("DeliveryPool", { timeout: 60_000 }, () => {
  it("delivers to a healthy endpoint besides two of every bad kind, before a hanging one has ended", async () => {
    const hanging: string[] = [];
    for (const kind of Object.values(badEndpoints)) {
      const running = await RunningBadEndpoint.start(kind, authority);
      onTestFinished(() => running.close());
      const rows = await writeDueDeliveries(harness, {
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
    await deliverHealthy(startDeliveryPool(), 20);
    expect(await triesAt(hanging)).toEqual([]);
  });

  it("keeps room for others when all endpoints of a big merchant hang at once", async () => {
    const dead = await startReceiver();
    const arrived = dead.waitForCount(128, undefined, waitMs);
    dead.answerWith("hang");
    const big = { merchants: 1, endpointsEach: 16, dueEach: 64, sinceSeconds: 60, url: dead.url };
    const [merchant] = await writeDueDeliveries(harness, big);
    const deliveryPool = startDeliveryPool();
    await arrived;
    await deliverHealthy(deliveryPool, 20);
    expect(await triesAt(merchant!.endpointIds)).toEqual([]);
    expect(dead.requests).toHaveLength(128);
  });

  it("keeps room for others when hundreds of merchants' endpoints fail and hang", async () => {
    const dead = await startReceiver();
    const arrived = dead.waitForCount(256, undefined, waitMs);
    dead.answerWith("hang");
    const many = { merchants: 300, endpointsEach: 1, dueEach: 2, sinceSeconds: 60, window: 2, failuresInRow: 1 };
    const rows = await writeDueDeliveries(harness, { ...many, url: dead.url });
    const deliveryPool = startDeliveryPool();
    await arrived;
    await deliverHealthy(deliveryPool, 20);
    expect(await triesAt(rows.flatMap(({ endpointIds }) => endpointIds))).toEqual([]);
    expect(dead.requests).toHaveLength(256);
  });

  it("makes room again when more endpoints than it has room for begin to hang at once", async () => {
    const dead = await startReceiver();
    const arrived = dead.waitForCount(512, undefined, waitMs);
    dead.answerWith("hang");
    const host = { merchants: 16, endpointsEach: 1, dueEach: 64, sinceSeconds: 60, url: dead.url };
    const rows = await writeDueDeliveries(harness, host);
    const deliveryPool = startDeliveryPool();
    await arrived;
    await deliverHealthy(deliveryPool, 20);
    expect(await triesAt(rows.flatMap(({ endpointIds }) => endpointIds))).toEqual([]);
  });
});
