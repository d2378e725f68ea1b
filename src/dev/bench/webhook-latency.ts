/** Row 7: the time from the commit of an outcome to the arrival of its webhook, one at a time and at a rate. */
import { setTimeout as pause } from "node:timers/promises";
import type { ScaleMerchant } from "../simulation/webhooks/scale-endpoints.ts";
import type { ScaleLoad } from "../simulation/webhooks/scale-load.ts";
import type { Round } from "./contestant.ts";
import { waitForAll } from "./webhook-contestants.ts";
import type { WebhookHarness } from "./webhook-harness.ts";
import type { Arrivals } from "./webhook-receiver.ts";

// Between two outcomes: all processes are idle again by then.
const restMs = 25;
// The precision of a rate: finer than what is measured.
const tickMs = 2;

/** Ends sessions by the product, each after the webhook of the one before has arrived. */
export async function measureIdle(harness: WebhookHarness, merchant: ScaleMerchant, samples: number): Promise<Round> {
  const latencies: number[] = [];
  const startedAt = performance.now();
  for (let number = 0; number < samples; number++) {
    await harness.receiver.ask("begin");
    await harness.site.settle(merchant.merchantId, { events: 1 });
    const emittedAtMs = performance.timeOrigin + performance.now();
    await waitForAll(harness, 1);
    latencies.push((await harness.receiver.ask<Arrivals>("arrivals")).lastAtMs - emittedAtMs);
    await pause(restMs);
  }
  return roundOf(latencies, samples / ((performance.now() - startedAt) / 1_000), 0);
}

/** Ends sessions at a fixed rate, independent of their webhooks, each in its own commit. */
export async function measureAtRate(
  harness: WebhookHarness,
  load: ScaleLoad,
  { perSecond, seconds }: { perSecond: number; seconds: number },
): Promise<Round> {
  await harness.receiver.ask("begin");
  const adding: ReturnType<ScaleLoad["add"]>[] = [];
  const startedAt = performance.now();
  for (let passedMs = 0; passedMs < seconds * 1_000; passedMs = performance.now() - startedAt) {
    while (adding.length < (passedMs / 1_000) * perSecond) adding.push(load.add(1));
    await pause(tickMs);
  }
  const emitted = (await Promise.all(adding)).flat();
  const emittedPerSecond = emitted.length / ((performance.now() - startedAt) / 1_000);
  await waitForAll(harness, emitted.length);
  const { atMs, requests } = await harness.receiver.ask<Arrivals>("arrivals");
  return roundOf(
    emitted.map(({ eventId, emittedAtMs }) => atMs[eventId]! - emittedAtMs),
    emittedPerSecond,
    requests - emitted.length,
  );
}

function roundOf(latencies: readonly number[], requestsPerSecond: number, failures: number): Round {
  const sorted = latencies.toSorted((left, right) => left - right);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
  return { requestsPerSecond, failures, p50Ms: at(0.5), p99Ms: at(0.99) };
}
