/**
 * An attack on one merchant over HTTP, with each side in a process of its own. Its figure needs a machine with nothing
 * else to do.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { CallingBrowser, CallingOrder, CallingResult } from "../../dev/testing/edge/calling-process.ts";
import { type LimitedEdge, startLimitedEdge } from "../../dev/testing/edge/limited-edge.ts";
import { requestLimitBounds } from "../../limits.ts";
import { type EdgeFixture, startEdgeFixture } from "../edge.fixture.ts";

const limit = { perSecond: requestLimitBounds.perSecond.default, burst: requestLimitBounds.burst.default };
const pairs = 12;
const windowMs = 3_000;
const burstMs = 2_000;

let edge: EdgeFixture;
let limited: LimitedEdge;
let processes: { attackers: ChildProcess; customers: ChildProcess };
beforeAll(async () => {
  edge = await startEdgeFixture();
  limited = await startLimitedEdge(edge, limit);
  const start = async () => {
    const started = fork(join(import.meta.dirname, "../../dev/testing/edge/calling-process.ts"));
    await once(started, "message");
    return started;
  };
  processes = { attackers: await start(), customers: await start() };
});
afterAll(async () => {
  for (const one of Object.values(processes ?? {})) one.send("end");
  await limited?.close();
  await edge.close();
});

async function browsersOf(count: number, addressOf: (number: number) => string): Promise<CallingBrowser[]> {
  const { secret } = await edge.addMerchant();
  const browsers: CallingBrowser[] = [];
  for (let number = 0; number < count; number++) {
    const body = JSON.stringify({ amountMinor: 4900, currency: "EUR", orderRef: "order-1" });
    const { json } = await edge.call("POST", "/payment-sessions", {
      body,
      headers: { authorization: `Bearer ${secret}` },
    });
    const { sessionId, clientSecret, vault } = json;
    browsers.push({ sessionId, clientSecret, publishableKey: vault.publishableKey, address: addressOf(number) });
  }
  return browsers;
}

async function run(
  caller: ChildProcess,
  browsers: readonly CallingBrowser[],
  {
    perSecond,
    durationMs = windowMs,
    origin = limited.publicOrigin,
  }: { perSecond: number; durationMs?: number; origin?: string },
): Promise<CallingResult> {
  const order: CallingOrder = { origin, browsers, perSecond, durationMs };
  caller.send(order);
  const [result] = (await once(caller, "message")) as [CallingResult];
  return result;
}

const attackerOf = (number: number) => `93.${number % 10}.1.${number}`;
const p95Of = ({ admittedMs }: CallingResult) =>
  admittedMs.toSorted((a, b) => a - b)[Math.floor(admittedMs.length * 0.95)]!;
const medianOf = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

// The attack has used up the burst, which any merchant may call at once, before the customers of the other one call.
it("a flood changes another merchant's p95 by at most a tenth", { timeout: 300_000 }, async () => {
  const attackers = await browsersOf(120, attackerOf);
  const customers = await browsersOf(60, (number) => `94.${number}.1.1`);
  const p95Beside = async (perSecond: number) => {
    const others = run(processes.attackers, attackers, { perSecond, durationMs: burstMs + windowMs });
    await pause(burstMs);
    const result = await run(processes.customers, customers, { perSecond: 50 });
    expect(result.statuses).toEqual({ 200: result.admittedMs.length });
    await others;
    return p95Of(result);
  };
  const within: number[] = [];
  const alone: number[] = [];
  for (let pair = 0; pair < pairs; pair++) {
    const quietMs = p95Of(await run(processes.customers, customers, { perSecond: 50 }));
    const admittedMs = await p95Beside(limit.perSecond);
    const floodedMs = await p95Beside(720);
    console.info(
      `p95 alone ${quietMs.toFixed(1)} ms, beside 100/s ${admittedMs.toFixed(1)} ms, beside 720/s ${floodedMs.toFixed(1)} ms`,
    );
    within.push(floodedMs / admittedMs);
    alone.push(floodedMs / quietMs);
  }
  console.info(`beside what is admitted ${medianOf(within).toFixed(2)}, beside nothing ${medianOf(alone).toFixed(2)}`);
  expect(medianOf(alone)).toBeLessThanOrEqual(1.1);
});

it("a refused call takes at most twice as much of the edge's thread as of a bare server's", async () => {
  const bare = createServer((_, response) => response.writeHead(429, { "content-type": "application/json" }).end("{}"));
  await new Promise<void>((resolve) => bare.listen(0, "127.0.0.1", resolve));
  const [attacker] = await browsersOf(1, attackerOf);
  const microsecondsAt = async (origin: string) => {
    const before = process.threadCpuUsage();
    const { statuses } = await run(processes.attackers, [attacker!], { perSecond: 720, origin });
    const { user, system } = process.threadCpuUsage(before);
    const calls = Object.values(statuses).reduce((sum, count) => sum + count, 0);
    expect(statuses[429]).toBeGreaterThan(0.9 * calls);
    return (user + system) / calls;
  };
  const bareOrigin = `http://127.0.0.1:${(bare.address() as AddressInfo).port}`;
  const measured: { edge: number; bare: number }[] = [];
  for (let pair = -1; pair < pairs; pair++) {
    const both = { edge: await microsecondsAt(limited.publicOrigin), bare: await microsecondsAt(bareOrigin) };
    // The first pair warms up.
    if (pair >= 0) measured.push(both);
  }
  bare.closeAllConnections();
  await new Promise((resolve) => bare.close(resolve));
  const [ofEdge, ofBare] = [medianOf(measured.map(({ edge }) => edge)), medianOf(measured.map(({ bare }) => bare))];
  console.info(`a refusal: ${ofEdge.toFixed(0)} µs of the edge's thread, ${ofBare.toFixed(0)} µs of a bare server's`);
  expect(medianOf(measured.map(({ edge, bare }) => edge / bare))).toBeLessThanOrEqual(2);
});
