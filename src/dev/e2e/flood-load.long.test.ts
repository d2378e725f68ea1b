/**
 * How long customers' submissions take beside a flood of calls at another merchant, by turns. Its figures need a machine with nothing
 * else to do.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect, it } from "vitest";
import type { CallingOrder, CallingResult } from "../testing/edge/calling-process.ts";
import { forFile } from "../testing/for-file.ts";
import { ApiCheckout } from "./api-checkout.ts";
import { startTestDemo } from "./demo.fixture.ts";
import { delayAnswers, gatewayDelays, payUntil, Turns } from "./payment-turns.ts";

const [turns, turnMs, burstMs] = [5, 15_000, 2_000];
const [arrivalMs, sessions, callsPerSecond] = [150, 120, 720];
const card = "4242424242424242";

const demo = await forFile(() => startTestDemo({ SWITCHYARD_TRUSTED_PROXIES: "127.0.0.1" }));
const [one, other] = demo.file.merchants.map(({ test }) => new ApiCheckout(demo.file, test.secretKey));
const attackers = await forFile(async () => {
  const child = fork(join(import.meta.dirname, "../testing/edge/calling-process.ts"));
  await once(child, "message");
  return Object.assign(child, { close: async () => void child.send("end") });
});

async function pay(): Promise<number> {
  const session = await one!.open();
  const token = await one!.tokenize(session, card);
  const begunAt = performance.now();
  const { outcome } = await one!.submit(session, token);
  expect(outcome).toHaveProperty("success");
  return performance.now() - begunAt;
}

it("pays beside a flood at another merchant", { timeout: 3_600_000 }, async () => {
  const browsers: CallingOrder["browsers"][number][] = [];
  for (let number = 0; number < sessions; number++) {
    const { sessionId, clientSecret, vault } = await other!.open();
    const address = `93.${number % 10}.1.${number}`;
    browsers.push({ sessionId, clientSecret, publishableKey: vault.publishableKey, address });
  }
  const flood = async (durationMs: number): Promise<CallingResult> => {
    const order: CallingOrder = { origin: demo.file.connectOrigin, browsers, perSecond: callsPerSecond, durationMs };
    attackers.send(order);
    const [result] = (await once(attackers, "message")) as [CallingResult];
    return result;
  };
  for (let warm = 0; warm < 50; warm++) await pay();
  for (const delayMs of gatewayDelays) {
    await delayAnswers(demo.sandbox, delayMs);
    const measured = new Turns(0.95);
    let [calls, admitted] = [0, 0];
    for (let turn = 0; turn < turns; turn++) {
      const alone = await payUntil(pause(turnMs), arrivalMs, pay);
      // The burst, which any merchant may call at once, is used up before.
      const flooding = flood(burstMs + turnMs);
      await pause(burstMs);
      measured.add(alone, await payUntil(flooding, arrivalMs, pay));
      const { statuses, admittedMs } = await flooding;
      calls += Object.values(statuses).reduce((sum, count) => sum + count, 0);
      admitted += admittedMs.length;
    }
    expect(admitted).toBeLessThan(calls / 4);
    console.info(`gateways answer after up to ${delayMs} ms, ${calls} calls, ${admitted} admitted: ${measured}`);
  }
});
