/** nats-server, PostgreSQL and a receiver that die during a delivery: workers continue by themselves. */
import { beforeEach, describe, expect, it } from "vitest";
import { ReceiverProcess } from "../simulation/webhooks/receiver-process.ts";
import { forFile } from "../testing/for-file.ts";
import { type Act, WebhookFixture } from "./webhook-fixture.ts";

// Past the age at which the sweep delivers what NATS did not (webhook-worker.ts).
const pastSweepS = 11;
const pastLeaseS = 36;
const tenMinutesS = 600;
// Of an endpoint that has accepted nothing yet (src/migrations/environment/endpoints.sql).
const windowAtFirst = 4;

let act: Act;
const fixture = await forFile(() => WebhookFixture.open({ natsServers: 1 }));
await Promise.all([fixture.startWorker(), fixture.startWorker()]);
beforeEach(async () => {
  fixture.receiver.answerWith({ status: 204 });
  act = await fixture.begin();
});

async function settle(sessions: number): Promise<void> {
  for (let count = 0; count < sessions; count++) await act.settle();
}

const unpublished = () => fixture.site.query("SELECT FROM event_todo");

describe("two workers", { timeout: 90_000 }, () => {
  it("post everything once when nats-server is killed under load and comes back", async () => {
    const load = settle(40);
    await fixture.receiver.waitForCount(10, (request) => act.isHere(request));
    await fixture.site.killNats({ losesStore: false });
    await fixture.site.startNats();
    await load;
    await fixture.site.passSeconds(pastSweepS);
    await act.expectAllCame();
    await expect.poll(unpublished, { timeout: 20_000 }).toEqual([]);
  });

  it("post everything once when nats-server dies under load and loses its store", async () => {
    const load = settle(40);
    await fixture.receiver.waitForCount(10, (request) => act.isHere(request));
    await fixture.site.killNats({ losesStore: true });
    await fixture.site.startNats();
    await load;
    await fixture.site.passSeconds(pastSweepS);
    await act.expectAllCame();
    await expect.poll(unpublished, { timeout: 20_000 }).toEqual([]);
  });

  it("post nevertheless while nats-server is down for ten minutes, and publish everything afterwards", async () => {
    await fixture.site.killNats({ losesStore: false });
    await settle(5);
    await fixture.site.passSeconds(pastSweepS);
    await act.expectAllCame();
    await fixture.site.passSeconds(tenMinutesS);
    await settle(5);
    await fixture.site.passSeconds(pastSweepS);
    await act.expectAllCame();
    expect(await unpublished()).toHaveLength(20);
    await fixture.site.startNats();
    await expect.poll(unpublished, { timeout: 30_000 }).toEqual([]);
    await settle(5);
    await act.expectAllCame();
  });

  it("continue when PostgreSQL crashes under load, and repeat only what was being sent", async () => {
    // These are answered when no process could record it.
    const underWay = new Set<string>();
    const enough = Promise.withResolvers<void>();
    const crashed = Promise.withResolvers<void>();
    fixture.receiver.answerWith(async (request) => {
      if (!act.isHere(request)) return { status: 204 };
      underWay.add(String(request.headers["webhook-id"]));
      if (underWay.size === windowAtFirst) enough.resolve();
      await crashed.promise;
      return { status: 204 };
    });
    const untilItIsGone = fixture.site.query("SELECT pg_sleep(60)").catch(() => []);
    await settle(10);
    await enough.promise;
    fixture.site.postgres.restart("immediate", 0);
    await untilItIsGone;
    crashed.resolve();
    const sentBefore = new Set(underWay);
    await fixture.site.postgres.wake();
    await settle(10);
    await fixture.site.passSeconds(pastLeaseS);
    await act.expectAllCame((eventId) => sentBefore.has(eventId));
  });

  it("post again to a receiver that died in the middle of a request", async () => {
    const receiver = await ReceiverProcess.start();
    const dying = await fixture.begin(`${receiver.origin}/act`);
    const { secret, publicId } = dying.endpoint;
    await receiver.trust({ "/act": { secret, manner: "hang" } });
    await dying.settle();
    await receiver.waitForCount(1);
    await receiver.kill();
    // The session's other event may be posted and refused before this is seen, and this one a second time.
    const failed = "SELECT FROM delivery WHERE endpoint_id = $1 AND tries > 0 AND lease_token IS NULL";
    const failures = async () => (await fixture.site.query(failed, [dying.endpoint.endpointId])).length;
    await expect.poll(failures).toBeGreaterThan(0);
    // Its next attempt waits for the receiver, however long that takes to start.
    const unlock = await dying.lock();
    // The other event may be under way already: what arrives before the route is known would not be counted.
    await receiver.restart({ "/act": { secret, manner: "accept" } });
    // Past the pause after a second failure.
    await fixture.site.passSeconds(tenMinutesS);
    await unlock();
    await receiver.waitForCount(2);
    const arrivals = (await receiver.take()).map((webhook) => ({ ...webhook, endpoint: publicId }));
    await dying.expectAllCame(() => false, arrivals);
    await receiver.close();
  });
});
