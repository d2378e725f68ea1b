/** Rows 7 to 9: latency and throughput of webhooks, beside bare POSTs, beside dead endpoints, and with more workers. */
import { setTimeout as pause } from "node:timers/promises";
import { freePort } from "../../demo/free-port.ts";
import type { ScaleMerchant } from "../simulation/webhooks/scale-endpoints.ts";
import { ScaleLoad } from "../simulation/webhooks/scale-load.ts";
import type { Round } from "./contestant.ts";
import { type BenchHarness, describePostgres } from "./harness.ts";
import { measureProcessors } from "./machine.ts";
import { playRounds, spreadOf, type Turn } from "./rounds.ts";
import { addHealthy, healthyMerchants, undiciAlone, waitForAll, workersUnder } from "./webhook-contestants.ts";
import { WebhookHarness } from "./webhook-harness.ts";
import type { Arrivals } from "./webhook-receiver.ts";

export type WebhookBenchOptions = {
  readonly rounds: number;
  /** Webhooks of a round, all due at once. */
  readonly events: number;
  readonly warmUp: number;
  readonly samples: number;
  /** Duration of the outcomes at half load, in seconds. */
  readonly seconds: number;
};

/** Rounds with some workers on some nats-servers, and the busy share of all processors meanwhile, from any cause. */
export type Scaling = {
  readonly workers: number;
  readonly natsServers: 1 | 3;
  readonly rounds: readonly Round[];
  readonly busyShare: number;
};

export type WebhookLatency = { readonly idle: readonly Round[]; readonly halfLoad: readonly Round[] };

export type WebhookBenchResult = {
  readonly throughput: readonly Turn[];
  readonly latency: WebhookLatency | undefined;
  readonly scaling: readonly Scaling[];
  readonly postgres: BenchHarness["postgres"];
};

export const ours = "Switchyard, 1 worker";
export const barePosts = "undici alone";
/** The product's name with a dead endpoint beside the healthy ones. */
export const besideDead = "beside 1 dead in 10";

const workerCounts = [1, 2, 4];
// The required rate of one worker. Outcomes that are committed one by one use up the machine before their webhooks do.
const wholeLoadPerSecond = 1_000;
// Enough to keep one process of undici busy.
const postsAtOnce = 64;
// It is about this many times as fast: its rounds are to use as much of the machine as ours.
const postsForOne = 10;

/** Plays the rows, and reports its steps. Throws if a webhook was lost or is not genuine. */
export async function runWebhookBench(
  options: WebhookBenchOptions,
  { rows, report: onStep }: { rows: readonly number[]; report: (step: string) => void },
): Promise<WebhookBenchResult> {
  onStep("starting servers");
  const harness = await WebhookHarness.open(1);
  try {
    await harness.growTo(1);
    const stage = await prepare(harness, options);
    return {
      throughput: rows.includes(8) ? await playThroughput(stage, onStep) : [],
      latency: rows.includes(7) ? await playLatency(stage, onStep) : undefined,
      scaling: rows.includes(9) ? await playScaling(stage, onStep) : [],
      postgres: await describePostgres(harness.site.ownerUrl),
    };
  } finally {
    await harness.close();
  }
}

type Stage = Awaited<ReturnType<typeof prepare>>;

async function prepare(harness: WebhookHarness, options: WebhookBenchOptions) {
  const bad = await harness.start("bad-endpoints-process.ts").ask<Record<string, string>>("start");
  const healthy = await addHealthy(harness);
  const load = await ScaleLoad.open(harness.site, healthy, 1);
  const alone = workersUnder({ name: ours, harness, healthy, load, events: options.events });
  return { harness, bad, options, healthy, load, alone };
}

async function playThroughput(stage: Stage, onStep: (step: string) => void): Promise<Turn[]> {
  const { harness, bad, options, healthy, load, alone } = stage;
  const { events, rounds } = options;
  const poster = harness.start("peers/undici-poster.ts");
  const refusing = `http://127.0.0.1:${await freePort()}/hook`;
  const dead = async (round: number) => {
    const url = [refusing, bad["answers 500"]!, bad["accepts and says nothing"]!][round % 3]!;
    return { merchants: [await harness.addMerchant(url, "failing")], eventsEach: Math.ceil(events / healthyMerchants) };
  };
  const body = "x".repeat(await bodyCharacters(harness));
  const urls = healthy.map(({ endpoints }) => harness.origin + endpoints[0]!.path);
  const order = { urls, body, count: events * postsForOne, atOnce: postsAtOnce };
  const contestants = [
    alone,
    undiciAlone({ name: barePosts, poster, receiver: harness.receiver, order }),
    workersUnder({ name: besideDead, harness, healthy, load, events, beside: dead }),
  ];
  onStep(`warming up, ${options.warmUp} s for each of ${contestants.length}`);
  let played = 0;
  return playRounds(contestants, {
    ...options,
    seconds: 0,
    onPlayed: () => onStep(`throughput: ${++played} of ${(rounds + 1) * contestants.length} played`),
  });
}

async function bodyCharacters(harness: WebhookHarness): Promise<number> {
  const [row] = await harness.site.query<{ length: number }>("SELECT max(length(body)) AS length FROM outbox_event");
  return row!.length;
}

/** Plays one at a time, then half load. */
async function playLatency(stage: Stage, onStep: (step: string) => void): Promise<WebhookLatency> {
  const { harness, healthy, load, options } = stage;
  const idle: Round[] = [];
  const halfLoad: Round[] = [];
  onStep("measuring throughput, to find half load");
  const loaded = await playRounds([stage.alone], { ...options, seconds: 0, onPlayed: () => {} });
  const found = spreadOf(loaded.map((turn) => turn[ours]!.requestsPerSecond)).median;
  const perSecond = Math.min(found, wholeLoadPerSecond) / 2;
  const rate = { perSecond, seconds: options.seconds / options.rounds };
  for (let round = 0; round < options.rounds; round++) {
    onStep(`latency: ${round} of ${options.rounds} rounds played`);
    idle.push(await measureIdle(harness, healthy[0]!, Math.ceil(options.samples / options.rounds)));
    halfLoad.push(await measureAtRate(harness, load, rate));
  }
  return { idle, halfLoad };
}

async function playScaling(stage: Stage, onStep: (step: string) => void): Promise<Scaling[]> {
  const onOne = await playWorkers(stage, 1, onStep);
  onStep("starting three nats-servers");
  const harness = await WebhookHarness.open(3);
  try {
    await harness.growTo(1);
    return [...onOne, ...(await playWorkers(await prepare(harness, stage.options), 3, onStep))];
  } finally {
    await harness.close();
  }
}

async function playWorkers(
  { harness, options, alone }: Stage,
  natsServers: 1 | 3,
  onStep: (step: string) => void,
): Promise<Scaling[]> {
  const scaling: Scaling[] = [];
  for (const workers of workerCounts) {
    onStep(`${workers} workers on ${natsServers} nats-servers`);
    await harness.growTo(workers);
    const busyShareNow = measureProcessors();
    const turns = await playRounds([alone], { ...options, seconds: 0, onPlayed: () => {} });
    scaling.push({ workers, natsServers, rounds: turns.map((turn) => turn[ours]!), busyShare: busyShareNow() });
  }
  return scaling;
}

// Between two outcomes: all processes are idle again by then.
const restMs = 25;
// The precision of a rate, finer than the measured rates.
const tickMs = 2;

/** Ends sessions by the product, each after the webhook of the one before has arrived. */
async function measureIdle(harness: WebhookHarness, merchant: ScaleMerchant, samples: number): Promise<Round> {
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
async function measureAtRate(
  harness: WebhookHarness,
  load: ScaleLoad,
  { perSecond, seconds }: { perSecond: number; seconds: number },
): Promise<Round> {
  await harness.receiver.ask("begin");
  const prepared = await load.prepare(Math.ceil(perSecond * seconds) + 1);
  const adding: ReturnType<ScaleLoad["add"]>[] = [];
  const startedAt = performance.now();
  for (let passedMs = 0; passedMs < seconds * 1_000; passedMs = performance.now() - startedAt) {
    while (adding.length < (passedMs / 1_000) * perSecond) adding.push(load.settle([prepared[adding.length]!]));
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
