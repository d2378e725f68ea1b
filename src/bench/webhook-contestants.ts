/** Who takes part in the benchmarks of webhooks: our workers alone and beside bad endpoints, and undici without all that. */
import { Webhook } from "standardwebhooks";
import type { ScaleMerchant } from "../simulation/webhooks/scale-endpoints.ts";
import { ScaleLoad } from "../simulation/webhooks/scale-load.ts";
import type { Child, Usage } from "../testing/child-process.ts";
import type { Contestant, Round } from "./contestant.ts";
import type { PostOrder } from "./peers/undici-poster.ts";
import type { WebhookBed } from "./webhook-bed.ts";
import type { Arrivals, SampleWebhook } from "./webhook-receiver.ts";

/** Merchants with a healthy endpoint each: enough that no endpoint's window is what is measured. */
export const healthyMerchants = 9;

/** What is written beside the events that are counted: for whom, and how many to each. */
export type Beside = { readonly merchants: readonly ScaleMerchant[]; readonly eventsEach: number };

// Far beyond the leases of a worker that died; whatever comes later than that is lost.
const lostAfterMs = 120_000;

/** Healthy merchants of a bed. */
export function addHealthy(bed: WebhookBed): Promise<ScaleMerchant[]> {
  const urls = Array.from({ length: healthyMerchants }, (_, number) => `${bed.origin}/webhooks/${number}`);
  return Promise.all(urls.map((url) => bed.addMerchant(url)));
}

/** Our workers, given so many events at once. With `beside`, others have theirs in the same moment, and do not count. */
export function workersUnder(options: {
  name: string;
  bed: WebhookBed;
  healthy: readonly ScaleMerchant[];
  load: ScaleLoad;
  events: number;
  beside?: (round: number) => Promise<Beside>;
}): Contestant {
  const { name, bed, load, events } = options;
  let rounds = 0;
  const playOnce = async () => {
    const beside = await options.beside?.(rounds++);
    const otherLoad = beside && (await ScaleLoad.open(bed.site, beside.merchants, 1));
    await bed.receiver.ask("begin");
    if (beside && otherLoad) await otherLoad.add(beside.eventsEach * beside.merchants.length);
    const told = await load.add(events);
    await waitForAll(bed, told.length);
    const { lastAtMs, requests, sample } = await bed.receiver.ask<Arrivals>("arrivals");
    requireGenuine(sample, options.healthy);
    if (beside) await bed.pause(beside.merchants);
    return { count: told.length, elapsedMs: lastAtMs - told[0]!.toldAtMs, failures: requests - told.length };
  };
  return { name, play: (seconds) => playFor(seconds, playOnce, () => workersUsage(bed)) };
}

/** undici in a process of its own, posting as many to the same receiver. */
export function undiciAlone(options: { name: string; poster: Child; receiver: Child; order: PostOrder }): Contestant {
  const { name, poster, receiver, order } = options;
  const playOnce = async () => {
    await receiver.ask("begin");
    const posted = await poster.ask<{ elapsedMs: number; failures: number }>("post", order);
    return { count: order.count, ...posted };
  };
  return { name, play: (seconds) => playFor(seconds, playOnce, () => poster.ask<Usage>("usage")) };
}

/** Until so many have come. Throws when they do not: a webhook that is lost has no speed. */
export async function waitForAll({ receiver }: WebhookBed, count: number): Promise<void> {
  const { promise: tooLate, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Error(`not all of ${count} webhooks came within ${lostAfterMs / 1_000} s`)),
    lostAfterMs,
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

async function workersUsage(bed: WebhookBed): Promise<TotalUsage> {
  const usages = await bed.usage();
  return {
    databaseCpuMs: await bed.databaseCpuMs(),
    cpuMs: usages.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
    residentBytes: Math.max(...usages.map(({ residentBytes }) => residentBytes)),
  };
}

/** Throws unless a stock verifier takes it with the secret of whom it came to. */
function requireGenuine(sample: SampleWebhook | undefined, merchants: readonly ScaleMerchant[]): void {
  if (sample === undefined) throw new Error("the receiver has kept no webhook to be looked at");
  const { secret } = merchants.flatMap(({ endpoints }) => endpoints).find(({ path }) => path === sample.path)!;
  new Webhook(secret.slice(secret.indexOf("whsec_"))).verify(sample.body, sample.headers as Record<string, string>);
}
