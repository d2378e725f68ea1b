/** The contestants of webhook benchmarks: our workers alone and beside bad endpoints, and undici alone. */
import { Webhook } from "standardwebhooks";
import type { ScaleMerchant } from "../simulation/webhooks/scale-endpoints.ts";
import { ScaleLoad } from "../simulation/webhooks/scale-load.ts";
import type { Child, Usage } from "../testing/child-process.ts";
import type { Contestant, Round } from "./contestant.ts";
import type { PostOrder } from "./peers/undici-poster.ts";
import type { WebhookHarness } from "./webhook-harness.ts";
import type { Arrivals, SampleWebhook } from "./webhook-receiver.ts";

/** Number of merchants with a healthy endpoint each: enough that no endpoint's window is the limit. */
export const healthyMerchants = 9;

/** Events beside the measured ones: their merchants, and the number for each. */
export type Beside = { readonly merchants: readonly ScaleMerchant[]; readonly eventsEach: number };

// Far beyond the leases of a dead worker; later arrivals count as lost.
const arrivalTimeoutMs = 120_000;

export function addHealthy(harness: WebhookHarness): Promise<ScaleMerchant[]> {
  const urls = Array.from({ length: healthyMerchants }, (_, number) => `${harness.origin}/webhooks/${number}`);
  return Promise.all(urls.map((url) => harness.addMerchant(url)));
}

/**
 * Returns our workers as a contestant, with this many events at once. The events of `beside` are written at the same
 * time and do not count.
 */
export function workersUnder(options: {
  name: string;
  harness: WebhookHarness;
  healthy: readonly ScaleMerchant[];
  load: ScaleLoad;
  events: number;
  beside?: (round: number) => Promise<Beside>;
}): Contestant {
  const { name, harness, load, events } = options;
  let rounds = 0;
  const playOnce = async () => {
    const beside = await options.beside?.(rounds++);
    const otherLoad = beside && (await ScaleLoad.open(harness.site, beside.merchants, 1));
    await harness.receiver.ask("begin");
    if (beside && otherLoad) await otherLoad.add(beside.eventsEach * beside.merchants.length);
    const emitted = await load.add(events);
    await waitForAll(harness, emitted.length);
    const { lastAtMs, requests, sample } = await harness.receiver.ask<Arrivals>("arrivals");
    requireGenuine(sample, options.healthy);
    if (beside) await harness.pause(beside.merchants);
    return {
      count: emitted.length,
      elapsedMs: lastAtMs - emitted[0]!.emittedAtMs,
      failures: requests - emitted.length,
    };
  };
  return { name, play: (seconds) => playFor(seconds, playOnce, () => workersUsage(harness)) };
}

/** Returns undici in a separate process as a contestant, posting as many to the same receiver. */
export function undiciAlone(options: { name: string; poster: Child; receiver: Child; order: PostOrder }): Contestant {
  const { name, poster, receiver, order } = options;
  const playOnce = async () => {
    await receiver.ask("begin");
    const posted = await poster.ask<{ elapsedMs: number; failures: number }>("post", order);
    return { count: order.count, ...posted };
  };
  return { name, play: (seconds) => playFor(seconds, playOnce, () => poster.ask<Usage>("usage")) };
}

/** Waits until this many have arrived. Throws if they do not: the speed of a run with lost webhooks means nothing. */
export async function waitForAll({ receiver }: WebhookHarness, count: number): Promise<void> {
  const { promise: tooLate, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Error(`not all of ${count} webhooks arrived within ${arrivalTimeoutMs / 1_000} s`)),
    arrivalTimeoutMs,
  );
  try {
    await Promise.race([receiver.ask("waitForCount", count), tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

type TotalUsage = Usage & { readonly databaseCpuMs?: number | undefined };
type Played = { readonly count: number; readonly elapsedMs: number; readonly failures: number };

async function playFor(
  seconds: number,
  playOnce: () => Promise<Played>,
  usage: () => Promise<TotalUsage>,
): Promise<Round> {
  const before = await usage();
  const played: Played[] = [];
  const sum = (figure: (one: Played) => number) => played.reduce((total, one) => total + figure(one), 0);
  do played.push(await playOnce());
  while (sum(({ elapsedMs }) => elapsedMs) < seconds * 1_000);
  const after = await usage();
  const count = sum((one) => one.count);
  return {
    requestsPerSecond: count / (sum(({ elapsedMs }) => elapsedMs) / 1_000),
    failures: sum((one) => one.failures),
    cpuMsPerRequest: (after.cpuMs - before.cpuMs) / count,
    residentMb: after.residentBytes / 2 ** 20,
    ...(after.databaseCpuMs !== undefined &&
      before.databaseCpuMs !== undefined && {
        databaseCpuMsPerRequest: (after.databaseCpuMs - before.databaseCpuMs) / count,
      }),
  };
}

async function workersUsage(harness: WebhookHarness): Promise<TotalUsage> {
  const usages = await harness.usage();
  return {
    databaseCpuMs: await harness.databaseCpuMs(),
    cpuMs: usages.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
    residentBytes: Math.max(...usages.map(({ residentBytes }) => residentBytes)),
  };
}

/** Throws unless a stock verifier accepts it with its merchant's secret. */
function requireGenuine(sample: SampleWebhook | undefined, merchants: readonly ScaleMerchant[]): void {
  if (sample === undefined) throw new Error("the receiver kept no webhook to check");
  const { secret } = merchants.flatMap(({ endpoints }) => endpoints).find(({ path }) => path === sample.path)!;
  new Webhook(secret.slice(secret.indexOf("whsec_"))).verify(sample.body, sample.headers as Record<string, string>);
}
