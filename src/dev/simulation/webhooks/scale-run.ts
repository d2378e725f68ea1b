/** Sends many events to many endpoints, some of them dead, while workers are killed; then counts everything. */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { freePortRange } from "../../testing/free-port-range.ts";
import { RoleKeeper } from "../chaos/role-keeper.ts";
import { Tally } from "../chaos/tally.ts";
import { type ReceivedWebhook, ReceiverProcess } from "./receiver-process.ts";
import { type Counted, countAll } from "./scale-count.ts";
import { openEndpoints } from "./scale-endpoints.ts";
import { ScaleLoad } from "./scale-load.ts";
import { WebhookSite, webhookSitePorts } from "./webhook-site.ts";

export type ScaleOptions = {
  readonly events: number;
  readonly deadPercent: number;
  readonly workers: number;
  /** Interval at which workers are killed, by turns; undefined for never. */
  readonly killEverySeconds: number | undefined;
  readonly natsServers: 1 | 3;
};

/** The progress of a run; deliveries are those to healthy endpoints. */
export type ScaleMoment = { readonly received: number; readonly wanted: number; readonly kills: number };

export type ScaleVerdict = Counted & {
  readonly options: ScaleOptions;
  /** The time from the first commit to the last first arrival. */
  readonly tookSeconds: number;
  readonly deliveriesPerSecond: number;
  readonly kills: number;
  readonly workerStarts: number;
};

// Enough for every worker to be busy; more would only wait.
const backlogMax = 3_000;
const batchEvents = 250;
const lookEveryMs = 100;
// Longer than a lease (35 s) and the second retry (5 min): a later delivery counts as lost in this run.
const stuckMs = 400_000;

/** Runs to the end, whatever the result; undefined when it was interrupted. Removes everything. */
export async function runScale(
  options: ScaleOptions,
  observer: { readonly signal: AbortSignal; readonly show: (moment: ScaleMoment) => void },
): Promise<ScaleVerdict | undefined> {
  const stateFolder = await mkdtemp(join(tmpdir(), "switchyard-webhooks-"));
  const firstPort = await freePortRange(webhookSitePorts);
  const site = await WebhookSite.open({ stateFolder, firstPort, natsServers: options.natsServers });
  const [healthy, dead] = await Promise.all([ReceiverProcess.start(), ReceiverProcess.start()]);
  const tally = new Tally();
  const workers = Array.from({ length: options.workers }, (_, index) => {
    const logFolder = join(stateFolder, "logs");
    return new RoleKeeper({ name: `worker-${index + 1}`, role: "worker", variables: site.variables, logFolder, tally });
  });
  try {
    const merchants = await openEndpoints(site, { healthy, dead, deadPercent: options.deadPercent });
    const load = await ScaleLoad.open(site, merchants);
    await Promise.all(workers.map((worker) => worker.start()));
    const startedAtMs = performance.timeOrigin + performance.now();
    const ended = new AbortController();
    const killing = strike(workers, options.killEverySeconds, ended.signal);
    const received = await play({ options, load, healthy, tally, observer });
    ended.abort();
    const kills = await killing;
    if (observer.signal.aborted) return undefined;
    const counted = await countAll({ site, merchants, emitted: load.emitted, received, kills });
    const tookSeconds = (counted.lastArrivalMs - startedAtMs) / 1_000;
    return {
      ...counted,
      options,
      tookSeconds,
      deliveriesPerSecond: counted.received / tookSeconds,
      kills: kills.length,
      workerStarts: options.workers + kills.length,
    };
  } finally {
    await Promise.all(workers.map((worker) => worker.end()));
    await Promise.all([healthy.close(), dead.close()]);
    await site.close();
  }
}

type Play = {
  readonly options: ScaleOptions;
  readonly load: ScaleLoad;
  readonly healthy: ReceiverProcess;
  readonly tally: Tally;
  readonly observer: { readonly signal: AbortSignal; readonly show: (moment: ScaleMoment) => void };
};

/** Writes events as fast as they are delivered, and polls until each has arrived or no more arrive. */
async function play({ options, load, healthy, tally, observer }: Play): Promise<ReceivedWebhook[]> {
  const received: ReceivedWebhook[] = [];
  const came = new Set<string>();
  let wanted = 0;
  let changedAt = Date.now();
  while (!observer.signal.aborted) {
    const fresh = await healthy.take();
    for (const webhook of fresh) came.add(webhook.eventId + webhook.path);
    if (fresh.length > 0) changedAt = Date.now();
    received.push(...fresh);
    observer.show({ received: came.size, wanted, kills: tally.sum("kill ") });
    const isLoaded = load.emitted.length >= options.events;
    if (isLoaded && (came.size >= wanted || Date.now() > changedAt + stuckMs)) break;
    if (!isLoaded && wanted - came.size < backlogMax) {
      const before = load.emitted.length;
      await load.add(Math.min(batchEvents, options.events - before));
      wanted += load.emitted.slice(before).reduce((sum, { endpoints }) => sum + endpoints.length, 0);
    } else {
      await pause(lookEveryMs);
    }
  }
  return received;
}

/** Kills one worker after another, each of which restarts at once; returns the times. */
async function strike(
  workers: readonly RoleKeeper[],
  everySeconds: number | undefined,
  end: AbortSignal,
): Promise<number[]> {
  const kills: number[] = [];
  if (everySeconds === undefined) return kills;
  for (let turn = 0; !end.aborted; turn++) {
    await pause(everySeconds * 1_000, undefined, { signal: end }).catch(() => {});
    const worker = workers[turn % workers.length]!;
    if (end.aborted || !worker.isUp) continue;
    kills.push(performance.timeOrigin + performance.now());
    worker.kill(0);
  }
  return kills;
}
