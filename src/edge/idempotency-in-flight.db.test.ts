/** Repeats during the first request, at two edges of one database, and the state that a crash leaves. */

import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { startSurfaces } from "../dev/testing/edge/surfaces.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { HeldCommits } from "../dev/testing/held-commits.ts";
import { idempotencyWaitMs } from "../limits.ts";
import { systemRuntime } from "../platform/runtime.ts";
import type { EdgeFixture } from "./edge.fixture.ts";

const surfaces = await forFile(startSurfaces);
const one: EdgeFixture = surfaces.edge;
const other = await forFile(() => one.startAnother());

// An edge of the tests has 20 connections. Five seconds on a busy machine are enough for these, and not for many more.
const repeatsMany = 24;

type Answer = Awaited<ReturnType<EdgeFixture["call"]>>;

/** Returns an order of its own, with the ways to send it under its key. */
function newOrder() {
  const orderRef = `order-${systemRuntime.uuid()}`;
  const order = { amountMinor: 4900, currency: "EUR", orderRef };
  const body = JSON.stringify(order);
  const headers = { "idempotency-key": systemRuntime.uuid() };
  const send = (edge: EdgeFixture) => edge.call("POST", "/payment-sessions", { body, headers });
  const sendMany = (edge: EdgeFixture, count: number) => Array.from({ length: count }, () => send(edge));
  return { order: { ...order, amountMinor: 4900n }, orderRef, body, headers, send, sendMany };
}

const hold = (orderRef: string) => HeldCommits.start(one.core.asOwner.pool, orderRef);

/** Sends a first request, whose commit is held. */
async function heldFirst({ orderRef, send }: Pick<ReturnType<typeof newOrder>, "orderRef" | "send">) {
  const held = await hold(orderRef);
  const first = send(one);
  await held.held();
  return { held, first };
}

async function sessionsOf(orderRef: string): Promise<number> {
  return (await one.call("GET", `/payment-sessions?orderRef=${orderRef}`)).json.paymentSessions.length;
}

function requireOneAnswer(answers: readonly Answer[], replays = answers.length - 1): void {
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  expect(answers.filter(({ headers }) => headers.get("idempotent-replayed") === "true")).toHaveLength(replays);
}

describe("repeats at two edges", () => {
  it("get one session and the same bytes when all arrive at once", async () => {
    const { orderRef, sendMany } = newOrder();
    requireOneAnswer(await Promise.all([...sendMany(one, 20), ...sendMany(other, 20)]));
    expect(await sessionsOf(orderRef)).toBe(1);
  });

  it("wait for the first while it commits, and delay no other caller: more of them than an edge has connections", async () => {
    const { orderRef, send, sendMany } = newOrder();
    const merchant = await one.addMerchant();
    const { held, first } = await heldFirst({ orderRef, send });
    let answered = 0;
    const repeats = [...sendMany(one, repeatsMany), ...sendMany(other, repeatsMany)];
    for (const repeat of repeats) repeat.then(() => answered++);
    await held.queued();
    // All at once: the repeats wait for five seconds and no more.
    const others = Array.from({ length: 10 }, async (_, count) => {
      const options = { body: newOrder().body, headers: { authorization: `Bearer ${merchant.secret}` } };
      return (await [one, other][count % 2]!.call("POST", "/payment-sessions", options)).status;
    });
    expect(await Promise.all(others)).toEqual(others.map(() => 201));
    expect([answered, (await held.held()).length]).toEqual([0, 1]);
    await held.release();
    requireOneAnswer(await Promise.all([first, ...repeats]));
    expect(await sessionsOf(orderRef)).toBe(1);
  });

  it("are asked to retry after five seconds, on every surface", { timeout: 30_000 }, async () => {
    const { order, orderRef, headers, send, sendMany } = newOrder();
    const { held, first } = await heldFirst({ orderRef, send });
    const sentAt = performance.now();
    const overGrpc = surfaces.createOverGrpc(order, headers);
    const overConnect = surfaces.overConnect(
      "CreatePaymentSession",
      JSON.stringify({ ...order, amountMinor: 4900 }),
      headers,
    );
    const refused = await Promise.all([...sendMany(one, 4), ...sendMany(other, 4)]);
    expect(performance.now() - sentAt).toBeGreaterThanOrEqual(idempotencyWaitMs - 1);
    for (const { status, json, headers } of refused) {
      expect([status, json.code, headers.get("retry-after")]).toEqual([409, "idempotency_in_progress", "1"]);
    }
    expect([(await overGrpc).code, (await overConnect).code]).toEqual(Array(2).fill("idempotency_in_progress"));
    await held.release();
    requireOneAnswer([await first, await send(one), await send(other)]);
    expect(await sessionsOf(orderRef)).toBe(1);
  });

  it("are compared with the first one's fields: another request that waited is refused", async () => {
    const { orderRef, headers, send } = newOrder();
    const { held, first } = await heldFirst({ orderRef, send });
    const body = JSON.stringify({ amountMinor: 4901, currency: "EUR", orderRef });
    const others = [one, other].map((edge) => edge.call("POST", "/payment-sessions", { body, headers }));
    await held.queued();
    await held.release();
    const codes = (await Promise.all(others)).map(({ status, json }) => [status, json.code]);
    expect(codes).toEqual(Array(2).fill([422, "idempotency_key_reused"]));
    requireOneAnswer([await first, await send(one)]);
  });
});

describe("a first request that is lost", () => {
  it("before its commit, with the database's process, leaves the key free for waiting repeats", async () => {
    const { orderRef, send, sendMany } = newOrder();
    const { held, first } = await heldFirst({ orderRef, send });
    const repeats = [...sendMany(one, 8), ...sendMany(other, 8)];
    await held.queued();
    await held.abort(one.core.core.database.pool);
    const lost = await first;
    expect([lost.status, lost.json.code, lost.headers.get("retry-after")]).toEqual([503, "unavailable", "1"]);
    await held.release();
    requireOneAnswer(await Promise.all(repeats));
    expect(await sessionsOf(orderRef)).toBe(1);
  });

  it("before its commit, with no repeat waiting, leaves no session and the key free", async () => {
    const { orderRef, send } = newOrder();
    const { held, first } = await heldFirst({ orderRef, send });
    await held.abort(one.core.core.database.pool);
    expect((await first).status).toBe(503);
    await held.release();
    expect(await sessionsOf(orderRef)).toBe(0);
    requireOneAnswer([await send(other), await send(one)]);
  });

  it("after its commit, with its connection, is found again by a repeat at another edge", async () => {
    const { orderRef, body, headers, send } = newOrder();
    const held = await hold(orderRef);
    const socket = connect(one.port, "127.0.0.1");
    socket.write(
      `POST /api/v1/payment-sessions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${one.keys.secret}\r\nContent-Type: application/json\r\nIdempotency-Key: ${headers["idempotency-key"]}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await held.held();
    socket.destroy();
    await held.release();
    requireOneAnswer([await send(other), await send(one)], 2);
    expect(await sessionsOf(orderRef)).toBe(1);
  });
});

describe("the day of a key", () => {
  it("is measured by the database's clock, and outlives the session", async () => {
    const { orderRef, send } = newOrder();
    const first = await send(one);
    await one.core.setClockAhead(24 * 60 - 1);
    try {
      const repeats = [await send(one), await send(other)];
      requireOneAnswer([first, ...repeats]);
      const { status } = (await one.call("GET", `/payment-sessions/${first.json.sessionId}`)).json;
      expect(status).toBe("EXPIRED");
      await one.core.setClockAhead(24 * 60 + 1);
      const afterwards = await Promise.all([send(one), send(other), send(one), send(other)]);
      requireOneAnswer(afterwards);
      expect(afterwards[0]!.json.sessionId).not.toBe(first.json.sessionId);
      expect(await sessionsOf(orderRef)).toBe(2);
    } finally {
      await one.core.setClockAhead(0);
    }
  });
});
