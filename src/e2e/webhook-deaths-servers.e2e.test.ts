/** nats-server, PostgreSQL and a receiver that die on a webhook's way: workers go on by themselves and nothing is lost. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ReceiverProcess } from "../simulation/webhooks/receiver-process.ts";
import { type Act, WebhookScene } from "./webhook-scene.ts";

// Past the age at which the sweep brings what NATS did not (fan-out.ts).
const pastSweepS = 11;
const pastLeaseS = 36;
const tenMinutesS = 600;
// Of an endpoint that has taken nothing yet (migration 003).
const windowAtFirst = 4;

let scene: WebhookScene;
let act: Act;
beforeAll(async () => {
  scene = await WebhookScene.open({ natsServers: 1 });
  await Promise.all([scene.startWorker(), scene.startWorker()]);
});
afterAll(() => scene?.close());
beforeEach(async () => {
  scene.receiver.answerWith({ status: 204 });
  act = await scene.begin();
});

async function settle(sessions: number): Promise<void> {
  for (let count = 0; count < sessions; count++) await act.settle();
}

const unpublished = () => scene.site.query("SELECT id FROM outbox_event WHERE published_at IS NULL");

describe("two workers", { timeout: 90_000 }, () => {
  it("post everything once when nats-server is killed under load and comes back", async () => {
    const load = settle(40);
    await scene.receiver.waitForCount(10, (request) => act.isHere(request));
    await scene.site.killNats({ losesStore: false });
    await scene.site.startNats();
    await load;
    await scene.site.passSeconds(pastSweepS);
    await act.expectAllCame();
    await expect.poll(unpublished, { timeout: 20_000 }).toEqual([]);
  });

  it("post everything once when nats-server dies under load and loses its store", async () => {
    const load = settle(40);
    await scene.receiver.waitForCount(10, (request) => act.isHere(request));
    await scene.site.killNats({ losesStore: true });
    await scene.site.startNats();
    await load;
    await scene.site.passSeconds(pastSweepS);
    await act.expectAllCame();
    await expect.poll(unpublished, { timeout: 20_000 }).toEqual([]);
  });

  it("post all the same while nats-server is down for ten minutes, and publish it all afterwards", async () => {
    await scene.site.killNats({ losesStore: false });
    await settle(5);
    await scene.site.passSeconds(pastSweepS);
    await act.expectAllCame();
    await scene.site.passSeconds(tenMinutesS);
    await settle(5);
    await scene.site.passSeconds(pastSweepS);
    await act.expectAllCame();
    expect(await unpublished()).toHaveLength(20);
    await scene.site.startNats();
    await expect.poll(unpublished, { timeout: 30_000 }).toEqual([]);
    await settle(5);
    await act.expectAllCame();
  });

  it("go on when PostgreSQL crashes under load, and repeat only what was being sent", async () => {
    // These are answered when there is nobody who could record it.
    const underWay = new Set<string>();
    const enough = Promise.withResolvers<void>();
    const crashed = Promise.withResolvers<void>();
    scene.receiver.answerWith(async (request) => {
      if (!act.isHere(request)) return { status: 204 };
      underWay.add(String(request.headers["webhook-id"]));
      if (underWay.size === windowAtFirst) enough.resolve();
      await crashed.promise;
      return { status: 204 };
    });
    const untilItIsGone = scene.site.query("SELECT pg_sleep(60)").catch(() => []);
    await settle(10);
    await enough.promise;
    scene.site.postgres.restart("immediate", 0);
    await untilItIsGone;
    crashed.resolve();
    const sentBefore = new Set(underWay);
    await scene.site.postgres.wake();
    await settle(10);
    await scene.site.passSeconds(pastLeaseS);
    await act.expectAllCame((eventId) => sentBefore.has(eventId));
  });

  it("post again to a receiver that died in the middle of a request", async () => {
    const receiver = await ReceiverProcess.start();
    const dying = await scene.begin(`${receiver.origin}/act`);
    const { secret, publicId } = dying.endpoint;
    await receiver.trust({ "/act": { secret, manner: "hang" } });
    await dying.settle();
    await receiver.waitForCount(1);
    await receiver.kill();
    const failedOnce = "SELECT FROM delivery WHERE endpoint_id = $1 AND tries = 1 AND lease_token IS NULL";
    await expect.poll(() => scene.site.query(failedOnce, [dying.endpoint.endpointId])).toHaveLength(1);
    // Its next try waits for the receiver, however long that takes to start.
    const unlock = await dying.lock();
    await receiver.restart();
    await receiver.trust({ "/act": { secret, manner: "take" } });
    await scene.site.passSeconds(pastSweepS);
    await unlock();
    await receiver.waitForCount(2);
    const arrivals = (await receiver.take()).map((webhook) => ({ ...webhook, endpoint: publicId }));
    await dying.expectAllCame(() => false, arrivals);
    await receiver.close();
  });
});
