/** Benches 7 to 9: how soon and how many webhooks arrive, beside bare POSTs, beside bad endpoints, and with more workers. */
import { freePort } from "../demo/free-port.ts";
import { ScaleLoad } from "../simulation/webhooks/scale-load.ts";
import { type BenchBed, describePostgres } from "./bed.ts";
import type { Round } from "./contestant.ts";
import { watchProcessors } from "./machine.ts";
import { playRounds, spreadOf, type Turn } from "./rounds.ts";
import { WebhookBed } from "./webhook-bed.ts";
import { addHealthy, healthyMerchants, undiciAlone, workersUnder } from "./webhook-contestants.ts";
import { measureAtRate, measureIdle } from "./webhook-latency.ts";
import { type Leftovers, waitForLeftovers } from "./webhook-leftovers.ts";

/** What may be left out. */
export const webhookParts = ["throughput", "latency", "scaling"] as const;
/** A part of the benchmark. */
export type WebhookPart = (typeof webhookParts)[number];

/** How long and how hard. */
export type WebhookBenchOptions = {
  readonly rounds: number;
  /** Webhooks of a round, all due at once. */
  readonly events: number;
  readonly warmUpSeconds: number;
  /** Outcomes one at a time. */
  readonly samples: number;
  /** How long outcomes come at half load. */
  readonly seconds: number;
  readonly parts: readonly WebhookPart[];
  readonly profileFolder?: string;
};

/** Rounds of some workers on some nats-servers, and how much of all processors was busy meanwhile, whatever with. */
export type Scaling = {
  readonly workers: number;
  readonly natsServers: 1 | 3;
  readonly rounds: readonly Round[];
  readonly busyShare: number;
};

/** How soon webhooks arrive: one at a time, at half load, at half load beside bad endpoints; and what those have left. */
export type WebhookLatency = {
  readonly idle: readonly Round[];
  readonly halfLoad: readonly Round[];
  readonly isolated: readonly Round[];
  readonly leftovers: Leftovers;
};

/** Everything that was measured. */
export type WebhookBenchResult = {
  readonly throughput: readonly Turn[];
  readonly latency: WebhookLatency | undefined;
  readonly scaling: readonly Scaling[];
  readonly postgres: BenchBed["postgres"];
};

/** How we are called in the turns. */
export const ours = "Switchyard, 1 worker";
/** How the peer is called. */
export const barePosts = "undici alone";
/** How we are called with a dead endpoint beside the healthy ones. */
export const besideDead = "beside 1 dead in 10";

const workerCounts = [1, 2, 4];
// What one worker has to manage. Outcomes that are committed one by one fill the machine sooner than their webhooks do.
const wholeLoadPerSecond = 1_000;
// What one process of undici is busy with.
const postsAtOnce = 64;
// So many times as fast it is, about: its rounds are to see as much of the machine as ours.
const postsForOne = 10;
// More to each bad endpoint than a window that was never opened lets through.
const eventsOfBadKind = 20;

/** Plays everything, and tells what it is at. Throws when a webhook was lost or is not genuine. */
export async function runWebhookBench(
  options: WebhookBenchOptions,
  onStep: (step: string) => void,
): Promise<WebhookBenchResult> {
  onStep("starting servers");
  const bed = await WebhookBed.open({ natsServers: 1, profileFolder: options.profileFolder });
  try {
    await bed.growTo(1);
    const stage = await prepare(bed, options);
    const has = (part: WebhookPart) => options.parts.includes(part);
    return {
      throughput: has("throughput") ? await playThroughput(stage, onStep) : [],
      latency: has("latency") ? await playLatency(stage, onStep) : undefined,
      scaling: has("scaling") ? await playScaling(stage, onStep) : [],
      postgres: await describePostgres(bed.site.ownerUrl),
    };
  } finally {
    await bed.close();
  }
}

type Stage = Awaited<ReturnType<typeof prepare>>;

async function prepare(bed: WebhookBed, options: WebhookBenchOptions) {
  const bad = await bed.start("bad-endpoints-process.ts").ask<Record<string, string>>("start");
  const healthy = await addHealthy(bed);
  const load = await ScaleLoad.open(bed.site, healthy, 1);
  const alone = workersUnder({ name: ours, bed, healthy, load, events: options.events });
  return { bed, bad, options, healthy, load, alone };
}

async function playThroughput(stage: Stage, onStep: (step: string) => void): Promise<Turn[]> {
  const { bed, bad, options, healthy, load, alone } = stage;
  const { events, rounds } = options;
  const poster = bed.start("peers/undici-poster.ts");
  const refusing = `http://127.0.0.1:${await freePort()}/hook`;
  const dead = async (round: number) => {
    const url = [refusing, bad["answers 500"]!, bad["accepts and says nothing"]!][round % 3]!;
    return { merchants: [await bed.addMerchant(url, "failing")], eventsEach: Math.ceil(events / healthyMerchants) };
  };
  const body = "x".repeat(await bodyCharacters(bed));
  const urls = healthy.map(({ endpoints }) => bed.origin + endpoints[0]!.path);
  const order = { urls, body, count: events * postsForOne, atOnce: postsAtOnce };
  const contestants = [
    alone,
    undiciAlone({ name: barePosts, poster, receiver: bed.receiver, order }),
    workersUnder({ name: besideDead, bed, healthy, load, events, beside: dead }),
  ];
  onStep(`warming up, ${options.warmUpSeconds} s for each of ${contestants.length}`);
  let played = 0;
  return playRounds(contestants, {
    ...options,
    seconds: 0,
    onPlayed: () => onStep(`throughput: ${++played} of ${(rounds + 1) * contestants.length} played`),
  });
}

async function bodyCharacters(bed: WebhookBed): Promise<number> {
  const [row] = await bed.site.query<{ length: number }>("SELECT max(length(body)) AS length FROM outbox_event");
  return row!.length;
}

/** One at a time, then at half load, then at the same load beside bad endpoints that have just stopped being good. */
async function playLatency(stage: Stage, onStep: (step: string) => void) {
  const { bed, bad, healthy, load, options } = stage;
  const idle: Round[] = [];
  const halfLoad: Round[] = [];
  const isolated: Round[] = [];
  onStep("throughput, of which the half is taken");
  const loaded = await playRounds([stage.alone], { ...options, seconds: 0, onPlayed: () => {} });
  const found = spreadOf(loaded.map((turn) => turn[ours]!.requestsPerSecond)).median;
  const perSecond = Math.min(found, wholeLoadPerSecond) / 2;
  const rate = { perSecond, seconds: options.seconds / options.rounds };
  const [before] = await bed.usage();
  for (let round = 0; round < options.rounds; round++) {
    onStep(`latency: ${round} of ${options.rounds} rounds played`);
    idle.push(await measureIdle(bed, healthy[0]!, Math.ceil(options.samples / options.rounds)));
    halfLoad.push(await measureAtRate(bed, load, rate));
    const merchants = await Promise.all(Object.values(bad).map((url) => bed.addMerchant(url, "failing")));
    await (await ScaleLoad.open(bed.site, merchants, 1)).add(merchants.length * eventsOfBadKind);
    isolated.push(await measureAtRate(bed, load, rate));
    await bed.pause(merchants);
  }
  onStep("looking for what bad endpoints have left behind");
  return { idle, halfLoad, isolated, leftovers: await waitForLeftovers(bed, before!) };
}

/** On the servers that run, and then on a cluster of three with workers of its own. */
async function playScaling(stage: Stage, onStep: (step: string) => void): Promise<Scaling[]> {
  const onOne = await playWorkers(stage, 1, onStep);
  onStep("starting three nats-servers");
  const bed = await WebhookBed.open({ natsServers: 3, profileFolder: stage.options.profileFolder });
  try {
    await bed.growTo(1);
    return [...onOne, ...(await playWorkers(await prepare(bed, stage.options), 3, onStep))];
  } finally {
    await bed.close();
  }
}

async function playWorkers(
  { bed, options, alone }: Stage,
  natsServers: 1 | 3,
  onStep: (step: string) => void,
): Promise<Scaling[]> {
  const scaling: Scaling[] = [];
  for (const workers of workerCounts) {
    onStep(`${workers} workers on ${natsServers} nats-servers`);
    await bed.growTo(workers);
    const busyShareNow = watchProcessors();
    const turns = await playRounds([alone], { ...options, seconds: 0, onPlayed: () => {} });
    scaling.push({ workers, natsServers, rounds: turns.map((turn) => turn[ours]!), busyShare: busyShareNow() });
  }
  return scaling;
}
