/** Counts the results of a scale run: lost, repeated and kept deliveries. */
import { checkArrivals } from "./check-arrivals.ts";
import type { ReceivedWebhook } from "./receiver-process.ts";
import { endpointsInAll, type Manner, type ScaleMerchant } from "./scale-endpoints.ts";
import type { ScaleLoad } from "./scale-load.ts";
import type { WebhookSite } from "./webhook-site.ts";

type Kept = { readonly manner: Manner; readonly deliveries: number; readonly attempts: number };

/** A delivery is an event at one endpoint; endpoints are healthy unless stated otherwise. */
export type Counted = {
  readonly events: number;
  readonly endpoints: number;
  readonly wanted: number;
  readonly received: number;
  readonly lastArrivalMs: number;
  readonly violations: readonly string[];
  readonly lost: number;
  /** Repeated deliveries, by the reason. */
  readonly repeated: { readonly byKill: number; readonly byLateAnswer: number };
  readonly latencyMs: { readonly p50: number; readonly p99: number };
  readonly kept: readonly Kept[];
};

type Run = {
  readonly site: WebhookSite;
  readonly merchants: readonly ScaleMerchant[];
  readonly emitted: ScaleLoad["emitted"];
  readonly received: readonly ReceivedWebhook[];
  /** Times of the workers' deaths, in milliseconds of the system's clock. */
  readonly kills: readonly number[];
};

// Bounds the time from an arrival to the commit of its result; machines under load are slow.
const recordingMs = 3_000;

/** Compares the receivers' records with the emitted events and with the database. */
export async function countAll(run: Run): Promise<Counted> {
  const { site, merchants, emitted, received, kills } = run;
  const idOf = new Map(merchants.flatMap(({ endpoints }) => endpoints.map(({ path, id }) => [path, id] as const)));
  const arrivals = received.map((webhook) => ({ ...webhook, endpoint: idOf.get(webhook.path) ?? webhook.path }));
  const firsts = new Map<string, number>();
  for (const { eventId, endpoint, atMs } of arrivals) {
    const name = `${eventId} at ${endpoint}`;
    if (!firsts.has(name)) firsts.set(name, atMs);
  }
  const lateAnswers = await findLateAnswers(site);
  const repeated = { byKill: 0, byLateAnswer: 0 };
  const explain = (eventId: string, endpoint: string) => {
    const first = firsts.get(`${eventId} at ${endpoint}`) ?? 0;
    const isLate = lateAnswers.has(eventId);
    const isKilled = kills.some((kill) => kill > first - recordingMs && kill < first + recordingMs);
    if (isLate) repeated.byLateAnswer += 1;
    else if (isKilled) repeated.byKill += 1;
    return isLate || isKilled;
  };
  const { violations } = checkArrivals(emitted, arrivals, explain);
  const wanted = emitted.reduce((sum, { endpoints }) => sum + endpoints.length, 0);
  const { kept, problems } = await countKept(run);
  return {
    events: emitted.length,
    endpoints: endpointsInAll,
    wanted,
    received: firsts.size,
    lastArrivalMs: [...firsts.values()].reduce((latest, atMs) => Math.max(latest, atMs), 0),
    violations: [...violations, ...problems],
    lost: violations.filter((violation) => violation.endsWith("never arrived")).length,
    repeated,
    latencyMs: latencyOf(emitted, firsts),
    kept,
  };
}

/** Finds events with a recorded delivery attempt that timed out, although the receiver got it. */
async function findLateAnswers(site: WebhookSite): Promise<ReadonlySet<string>> {
  const rows = await site.query<{ body: string }>(
    `SELECT convert_from(o.body, 'UTF8') AS body FROM delivery_attempt a JOIN delivery d USING (event_id, endpoint_id)
     JOIN outbox_event o ON o.session_id = d.session_id AND o.id = d.event_id
     WHERE a.no_answer IS NOT NULL AND d.status = 'SUCCEEDED'`,
  );
  return new Set(rows.map(({ body }) => JSON.parse(body).id as string));
}

/** Checks that every event of a merchant with a dead endpoint is kept for it, undelivered. */
async function countKept({ site, merchants, emitted }: Run): Promise<{ kept: Kept[]; problems: string[] }> {
  const rows = await site.query<{ url: string; status: string; deliveries: number; attempts: number }>(
    `SELECT e.url, d.status, count(*)::int AS deliveries, sum(d.tries)::int AS attempts
     FROM delivery d JOIN endpoint e ON e.id = d.endpoint_id GROUP BY e.url, d.status`,
  );
  const kept = new Map<Manner, Kept>();
  const problems: string[] = [];
  for (const { merchantId, endpoints } of merchants) {
    const events = emitted.filter(({ merchant }) => merchant.merchantId === merchantId).length;
    for (const { id, path, manner } of endpoints.filter((endpoint) => endpoint.manner !== "healthy")) {
      const ofIt = rows.filter(({ url }) => new URL(url).pathname === path);
      const undelivered = ofIt.filter(({ status }) => status !== "SUCCEEDED");
      const deliveries = undelivered.reduce((sum, row) => sum + row.deliveries, 0);
      const before = kept.get(manner) ?? { manner, deliveries: 0, attempts: 0 };
      const attempts = before.attempts + ofIt.reduce((sum, row) => sum + row.attempts, 0);
      kept.set(manner, { manner, deliveries: before.deliveries + deliveries, attempts });
      if (deliveries !== events)
        problems.push(`${deliveries} of ${events} events are kept for ${id}, which is ${manner}`);
    }
  }
  return { kept: [...kept.values()], problems };
}

function latencyOf(emitted: ScaleLoad["emitted"], firsts: ReadonlyMap<string, number>): Counted["latencyMs"] {
  const sorted = emitted
    .flatMap(({ eventId, endpoints, emittedAtMs }) =>
      endpoints.map((endpoint) => (firsts.get(`${eventId} at ${endpoint}`) ?? Number.NaN) - emittedAtMs),
    )
    .filter((latency) => !Number.isNaN(latency))
    .sort((left, right) => left - right);
  const at = (share: number) => Math.round(sorted[Math.floor(sorted.length * share)] ?? 0);
  return { p50: at(0.5), p99: at(0.99) };
}
