/**
 * Three nats-servers by the committed configuration, over TLS, with three copies of the stream: leaders are killed
 * under load, and workers lose nothing.
 */
import { beforeEach, describe, expect, it } from "vitest";
import { ensureEventStream, eventStreamOf } from "../../events/streams.ts";
import { enter } from "../../platform/nats.ts";
import { forFile } from "../testing/for-file.ts";
import { type Act, WebhookFixture } from "./webhook-fixture.ts";

const streamName = "PAYMENTS_TEST_V1";
const consumerName = "webhook-worker";
// Past the age at which the sweep delivers what NATS did not (webhook-worker.ts).
const pastSweepS = 11;
// An election takes seconds, and two processes reconnect.
const patience = { timeout: 30_000, interval: 100 };

let act: Act;
const fixture = await forFile(() => WebhookFixture.open({ natsServers: 3 }));
await Promise.all([fixture.startWorker(), fixture.startWorker()]);
const connection = await forFile(() => enter(fixture.site.cluster.urls.test, { maxReconnectAttempts: -1 }));
const manager = await connection.jetstreamManager();
beforeEach(async () => {
  act = await fixture.begin();
});

/** Returns the leader of the stream or of the workers' consumer; waits until a running server leads. */
async function leaderOf(what: "stream" | "consumer", but?: string): Promise<string> {
  let leader = "";
  const ask = async () => {
    const info =
      what === "stream" ? manager.streams.info(streamName) : manager.consumers.info(streamName, consumerName);
    leader = (await info.catch(() => undefined))?.cluster?.leader ?? "";
    return leader !== "" && leader !== but;
  };
  await expect.poll(ask, patience).toBe(true);
  return leader;
}

/** Copies of the stream that are not behind, its leader's included. */
async function wholeCopies(): Promise<number> {
  const { cluster } = await manager.streams.info(streamName);
  return 1 + (cluster?.replicas ?? []).filter(({ current, offline }) => current && !offline).length;
}

/** Settles sessions one after another until it is stopped; returns their number. */
function settleUntilStopped(): { stop(): Promise<number> } {
  let isStopped = false;
  const done = (async () => {
    let sessions = 0;
    for (; !isStopped; sessions++) await act.settle();
    return sessions;
  })();
  // A failure is the test's when it stops the load.
  done.catch(() => {});
  return {
    stop: () => {
      isStopped = true;
      return done;
    },
  };
}

const arrived = (count: number) => fixture.receiver.waitForCount(count, (request) => act.isHere(request), 30_000);
const unpublished = () => fixture.site.query("SELECT FROM event_todo");

describe("a cluster of three with three copies", { timeout: 120_000 }, () => {
  it("has them by configuration", async () => {
    await act.settle();
    await act.expectAllCame();
    expect((await manager.streams.info(streamName)).config.num_replicas).toBe(3);
    await expect.poll(wholeCopies, patience).toBe(3);
  });

  it("makes them of a stream that had one, without losing what is in it", async () => {
    // The other account: no worker uses its stream here.
    const live = await enter(fixture.site.cluster.urls.live, {});
    const [single, threefold] = [eventStreamOf("live", 1), eventStreamOf("live", 3)];
    await ensureEventStream(live, single);
    await live.jetstream().publish(`${single.subjects}payment_session.succeeded`, "an event");
    const liveManager = await live.jetstreamManager();
    const info = () => liveManager.streams.info(single.name);
    // Repeatedly, as the worker does: the consumer does not answer while its copies elect a leader.
    const copies = async () => {
      await ensureEventStream(live, threefold).catch(() => {});
      return (await info()).cluster?.replicas?.filter(({ current }) => current).length;
    };
    expect((await info()).config.num_replicas).toBe(1);
    await expect.poll(copies, patience).toBe(2);
    expect((await info()).state.messages).toBe(1);
    await expect.poll(() => ensureEventStream(live, threefold), patience).toEqual([]);
    await live.close();
  });

  it("loses nothing when the stream's leader is killed under load, and the next one after it", async () => {
    const { cluster } = fixture.site;
    const load = settleUntilStopped();
    await arrived(20);
    const first = await leaderOf("stream");
    await cluster.kill(first);
    const second = await leaderOf("stream", first);
    await arrived(act.arrivals().length + 20);
    await cluster.restart(first);
    await expect.poll(wholeCopies, patience).toBe(3);
    await cluster.kill(second);
    const third = await leaderOf("stream", second);
    await arrived(act.arrivals().length + 20);
    await cluster.restart(second);
    const sessions = await load.stop();
    console.info(`${sessions} sessions, stream led by ${first}, ${second}, ${third}`);
    await fixture.site.passSeconds(pastSweepS);
    await act.expectAllCame();
    await expect.poll(unpublished, patience).toEqual([]);
  });

  it("loses nothing when the consumer's leader is killed under load", async () => {
    const { cluster } = fixture.site;
    await expect.poll(wholeCopies, patience).toBe(3);
    const load = settleUntilStopped();
    await arrived(20);
    const leader = await leaderOf("consumer");
    await cluster.kill(leader);
    await leaderOf("consumer", leader);
    await arrived(act.arrivals().length + 20);
    await cluster.restart(leader);
    await load.stop();
    await fixture.site.passSeconds(pastSweepS);
    await act.expectAllCame();
  });

  it("delivers events by its messages again afterwards, not by the sweep", async () => {
    await expect.poll(unpublished, patience).toEqual([]);
    // A worker requests from its leader again every five seconds; a server that has restarted meanwhile has lost the
    // request.
    const isAsked = async () => {
      const { num_waiting, num_pending, num_ack_pending } = await manager.consumers.info(streamName, consumerName);
      return num_waiting > 0 && num_pending + num_ack_pending === 0;
    };
    await expect.poll(() => isAsked().catch(() => false), patience).toBe(true);
    await act.settle();
    // The sweep would take ten seconds.
    await fixture.receiver.waitForCount(2, (request) => act.isHere(request), 5_000);
    await act.expectAllCame();
  });
});
