/** Bench 7: from the commit of an outcome until its webhook is there, one at a time and at a rate. */
import { setTimeout as pause } from "node:timers/promises";
import type { ScaleMerchant } from "../simulation/webhooks/scale-endpoints.ts";
import type { ScaleLoad } from "../simulation/webhooks/scale-load.ts";
import type { Round } from "./contestant.ts";
import type { WebhookBed } from "./webhook-bed.ts";
import { waitForAll } from "./webhook-contestants.ts";
import type { Arrivals } from "./webhook-receiver.ts";

// Between two outcomes: everybody has gone to rest by then.
const restMs = 25;
// How exactly a rate is kept: finer than what is measured.
const tickMs = 2;

/** Sessions that the product ends, each after the webhook of the one before has come. */
export async function measureIdle(bed: WebhookBed, merchant: ScaleMerchant, samples: number): Promise<Round> {
  const latencies: number[] = [];
  const startedAt = performance.now();
  for (let number = 0; number < samples; number++) {
    await bed.receiver.ask("begin");
    await bed.site.settle(merchant.merchantId, { events: 1 });
    const toldAtMs = performance.timeOrigin + performance.now();
    await waitForAll(bed, 1);
    latencies.push((await bed.receiver.ask<Arrivals>("arrivals")).lastAtMs - toldAtMs);
    await pause(restMs);
  }
  return roundOf(latencies, samples / ((performance.now() - startedAt) / 1_000), 0);
}

/** Sessions that end at a rate whatever becomes of their webhooks, each in a commit of its own. */
export async function measureAtRate(
  bed: WebhookBed,
  load: ScaleLoad,
  { perSecond, seconds }: { perSecond: number; seconds: number },
): Promise<Round> {
  await bed.receiver.ask("begin");
  const adding: ReturnType<ScaleLoad["add"]>[] = [];
  const startedAt = performance.now();
  for (let passedMs = 0; passedMs < seconds * 1_000; passedMs = performance.now() - startedAt) {
    while (adding.length < (passedMs / 1_000) * perSecond) adding.push(load.add(1));
    await pause(tickMs);
  }
  const told = (await Promise.all(adding)).flat();
  const toldPerSecond = told.length / ((performance.now() - startedAt) / 1_000);
  await waitForAll(bed, told.length);
  const { atMs, requests } = await bed.receiver.ask<Arrivals>("arrivals");
  return roundOf(
    told.map(({ eventId, toldAtMs }) => atMs[eventId]! - toldAtMs),
    toldPerSecond,
    requests - told.length,
  );
}

function roundOf(latencies: readonly number[], requestsPerSecond: number, failures: number): Round {
  const sorted = latencies.toSorted((left, right) => left - right);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
  return { requestsPerSecond, failures, p50Ms: at(0.5), p99Ms: at(0.99) };
}
