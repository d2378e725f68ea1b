/**
 * An attack on one merchant over HTTP, with each side in a process of its own. Its figure needs a machine with nothing
 * else to do.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { CallingBrowser, CallingOrder, CallingResult } from "../../dev/testing/edge/calling-process.ts";
import { type LimitedEdge, startLimitedEdge } from "../../dev/testing/edge/limited-edge.ts";
import { requestLimitBounds } from "../../limits.ts";
import { type EdgeFixture, startEdgeFixture } from "../edge.fixture.ts";

const limit = { perSecond: requestLimitBounds.perSecond.default, burst: requestLimitBounds.burst.default };
const pairs = 12;
const windowMs = 3_000;

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
  expect(edge.bugs).toEqual([]);
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
  perSecond: number,
): Promise<CallingResult> {
  const order: CallingOrder = { origin: limited.publicOrigin, browsers, perSecond, durationMs: windowMs };
  caller.send(order);
  const [result] = (await once(caller, "message")) as [CallingResult];
  return result;
}

const attackerOf = (number: number) => `93.${number % 10}.1.${number}`;

it("a flood at one merchant changes another merchant's p95 by at most a tenth", { timeout: 300_000 }, async () => {
  const attackers = await browsersOf(120, attackerOf);
  const customers = await browsersOf(60, (number) => `94.${number}.1.1`);
  const p95Of = ({ admittedMs }: CallingResult) =>
    admittedMs.toSorted((a, b) => a - b)[Math.floor(admittedMs.length * 0.95)]!;
  const ratios: number[] = [];
  for (let pair = 0; pair < pairs; pair++) {
    const quiet = p95Of(await run(processes.customers, customers, 50));
    const [, flooded] = await Promise.all([
      run(processes.attackers, attackers, 720),
      run(processes.customers, customers, 50),
    ]);
    expect(flooded.statuses).toEqual({ 200: flooded.admittedMs.length });
    console.info(`p95 ${quiet.toFixed(1)} ms, in a flood ${p95Of(flooded).toFixed(1)} ms`);
    ratios.push(p95Of(flooded) / quiet);
  }
  const median = ratios.toSorted((a, b) => a - b)[Math.floor(pairs / 2)]!;
  expect(median).toBeLessThanOrEqual(1.1);
});
