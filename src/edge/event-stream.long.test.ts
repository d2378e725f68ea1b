/** Measures streams of events: a long backlog, and the time from a commit to many clients. Figures are in docs/benchmarks.md. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { forFile } from "../dev/testing/for-file.ts";
import { encodeCursor } from "../events/feed/cursor.ts";
import { recordEvent, writeEventBody } from "../events/outbox.ts";
import { encodeId } from "../platform/ids.ts";
import { startEdgeFixture } from "./edge.fixture.ts";
import { createGrpcServer } from "./grpc-server.ts";

const follower = new URL("../dev/testing/edge/event-follower.ts", import.meta.url);
const edge = await forFile(startEdgeFixture);
const server = await forFile(() => createGrpcServer(edge.parts, { reflection: false }));
const address = `127.0.0.1:${await server.listen(0, "127.0.0.1")}`;
const { merchantId } = edge.core.owner;
const { database, outbox } = edge.core.core;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;
const mib = 1024 * 1024;
const usedMib = () => {
  // What the first collection finds unused outside of the heap is given back by the second.
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / mib;
};

/** Starts a process that follows events by some streams. Resolves once it does. */
async function follow({ cursor, count, streams }: { cursor: string; count: number; streams: number }) {
  const child = fork(follower, [address, edge.keys.secret, cursor, String(count), String(streams)]);
  await once(child, "message");
  const followed = once(child, "message");
  const arrived = async () => {
    await followed;
    child.send("arrived");
    const [message] = (await once(child, "message")) as [[string, number][]];
    return message;
  };
  return { followed, arrived };
}

it("sends a backlog of 100,000 events at 5,000 a second and keeps a page of them", async () => {
  const [sessions, each] = [1_000, 100];
  await edge.core.asOwner.pool.query(
    `INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, expires_at)
     SELECT uuidv7(), '${merchantId}', 4900, 'EUR', 'backlog', 1, app.clock() + interval '30 minutes' FROM generate_series(1, ${sessions})`,
  );
  // A body of a succeeded session has one to two KiB.
  await edge.core.asOwner.pool.query(
    `INSERT INTO outbox_event (session_id, id, sequence, type, merchant_id, body, created_at)
     SELECT s.id, uuidv7(), n, 'payment_session.succeeded', s.merchant_id, convert_to(repeat(md5(n::text), 45), 'UTF8'), app.clock()
     FROM payment_session s, generate_series(1, ${each}) n WHERE s.order_ref = 'backlog'`,
  );
  await edge.core.asOwner.pool.query("VACUUM ANALYZE outbox_event");
  const before = usedMib();
  const stream = await follow({ cursor: encodeCursor([]), count: sessions * each, streams: 1 });
  let [highest, isFollowing] = [0, true];
  void stream.followed.then(() => {
    isFollowing = false;
  });
  while (isFollowing) {
    highest = Math.max(highest, usedMib() - before);
    // Collecting takes time of the stream.
    await pause(2_000);
  }
  // Its message of 100,000 ids is no memory of a stream's.
  const arrived = await stream.arrived();
  const perSecond = (1_000 * arrived.length) / (arrived.at(-1)![1] - arrived[0]![1]);
  console.log(`backlog: ${Math.round(perSecond)} events/s, memory + ${highest.toFixed(1)} MiB`);
  expect(new Set(arrived.map(([id]) => id)).size).toBe(sessions * each);
  expect(perSecond).toBeGreaterThan(5_000);
  expect(highest).toBeLessThan(20);
}, 240_000);

it("sends an event to ten streams within a second of its commit", async () => {
  const [count, everyMs] = [1_500, 10];
  const streams = await follow({ cursor: "", count, streams: 10 });
  const { id: sessionId } = await edge.core.newSession();
  const committed = new Map<string, number>();
  for (let made = 0; made < count; made++) {
    const begun = performance.now();
    const body = (envelope: Parameters<typeof writeEventBody>[0], sequence: number) =>
      writeEventBody(envelope, { sequence, text: "x".repeat(1_400) });
    const event = { sessionId, merchantId, type: "payment_session.succeeded", body } as const;
    const { eventId } = await database.transaction((tx) => recordEvent(tx, outbox, event));
    committed.set(encodeId("evt", eventId), Date.now());
    await pause(Math.max(0, everyMs - (performance.now() - begun)));
  }
  const arrived = await streams.arrived();
  const delays = arrived.map(([id, at]) => at - committed.get(id)!).toSorted((a, b) => a - b);
  const at = (part: number) => delays[Math.floor(part * (delays.length - 1))];
  console.log(`commit to client: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${at(1)} ms of ${delays.length}`);
  expect(delays).toHaveLength(10 * count);
  expect(at(0.99)).toBeLessThan(1_000);
}, 240_000);
