/**
 * Rows 4 to 6: the time of a payment beside that of a commit alone, its load on the database, and payments per
 * second.
 */
import { setTimeout as pause } from "node:timers/promises";
import { Client } from "pg";
import type { Child } from "../testing/child-process.ts";
import { type BenchHarness, describePostgres } from "./harness.ts";
import type { Paid, PaymentOrder, Submitted } from "./payment-load.ts";
import { PaymentSite } from "./payment-site.ts";
import type { Passed } from "./statement-gate.ts";

/** The duration and the load of the benchmark. */
export type PaymentBenchOptions = {
  readonly rounds: number;
  /** Payments one at a time of each kind, and commits, in a round. */
  readonly samples: number;
  /** The time that customers pay concurrently in a round, in seconds. */
  readonly seconds: number;
  /** Number of customers that pay concurrently. */
  readonly customers: number;
};

/** Cards of the sandbox gateways, by the outcome that they cause. */
export const kinds = { approved: "4242424242424242", failover: "4000000000000002" } as const;
/** A kind of payment. */
export type PaymentKind = keyof typeof kinds;

/** Milliseconds of each sample of a round, by the operation. */
type PaymentRound = Readonly<Record<PaymentKind | "commit", readonly number[]>>;

/** All measurements. `counted` is of one payment. */
export type PaymentBenchResult = {
  readonly rounds: readonly PaymentRound[];
  readonly counted: Readonly<Record<PaymentKind, Passed>>;
  readonly paid: readonly Paid[];
  /** CPU time of one payment among many, in milliseconds, by process. */
  readonly cpuMs: Readonly<Record<string, number>>;
  readonly peakMegabytes: Readonly<Record<string, number>>;
  readonly postgres: BenchHarness["postgres"];
};

/** Plays everything, and reports its steps. Throws if a payment did not end as its card determines. */
export async function runPaymentBench(
  options: PaymentBenchOptions,
  onStep: (step: string) => void,
): Promise<PaymentBenchResult> {
  onStep("starting servers and roles");
  const site = await PaymentSite.open();
  try {
    const load = site.startChild("payment-load.ts");
    onStep("counting the database work of a payment");
    await site.start("edge", { counted: true });
    const counted = {
      approved: await countOne(site, load, { kind: "approved", payments: options.samples }),
      failover: await countOne(site, load, { kind: "failover", payments: options.samples }),
    };
    onStep("warming up");
    await site.start("edge");
    await site.start("worker");
    await payManyAtOnce(site, load, options);
    const rounds = await playOneByOne(site, load, options, onStep);
    const paid: Paid[] = [];
    const before = site.cpuMs();
    for (let round = 0; round < options.rounds; round++) {
      onStep(`many at once: ${round} of ${options.rounds} rounds played`);
      paid.push(await payManyAtOnce(site, load, options));
    }
    const cpuMs = cpuOfOne(before, site.cpuMs(), paid);
    const peakMegabytes = await site.peakMegabytes();
    return { rounds, counted, paid, cpuMs, peakMegabytes, postgres: await describePostgres(site.ownerUrl) };
  } finally {
    await site.close();
  }
}

/** Returns the CPU time of one payment between two readings, in milliseconds, by process; the largest first. */
export function cpuOfOne(
  before: Readonly<Record<string, number>>,
  after: Readonly<Record<string, number>>,
  paid: readonly Paid[],
): Readonly<Record<string, number>> {
  const payments = paid.reduce((sum, one) => sum + one.payments, 0);
  const used = Object.entries(after).map(([name, ms]) => [name, (ms - (before[name] ?? 0)) / payments] as const);
  return Object.fromEntries(used.toSorted(([, one], [, other]) => other - one));
}

function orderOf({ doors }: PaymentSite, kind: PaymentKind): PaymentOrder {
  return { doors, card: kinds[kind], status: "SUCCEEDED" };
}

async function countOne(
  site: PaymentSite,
  load: Child,
  { kind, payments }: { kind: PaymentKind; payments: number },
): Promise<Passed> {
  const order = orderOf(site, kind);
  await submitMany(load, order, payments);
  await load.ask("prepare", { ...order, count: payments });
  const { roundTrips, commits } = await site.count(() => load.ask("submit", order));
  return { roundTrips: roundTrips / payments, commits: commits / payments };
}

async function submitMany(load: Child, order: PaymentOrder, count: number): Promise<readonly number[]> {
  await load.ask("prepare", { ...order, count });
  const { latenciesMs, failures } = await load.ask<Submitted>("submit", order);
  if (failures > 0) throw new Error(`${failures} of ${count} payments did not end as ${order.status}`);
  return latenciesMs;
}

/** Makes whole payments with this many concurrent customers. Throws if one failed. */
export async function payManyAtOnce(
  site: PaymentSite,
  load: Child,
  { seconds, customers }: Pick<PaymentBenchOptions, "seconds" | "customers">,
): Promise<Paid> {
  const end = new AbortController();
  const emptying = emptyMerchantCount(site, end.signal);
  const order = { ...orderOf(site, "approved"), seconds, atOnce: customers };
  const paid = await load.ask<Paid>("pay", order).finally(() => end.abort());
  await emptying;
  if (paid.failures > 0) throw new Error(`${paid.failures} of ${paid.payments} payments failed`);
  return paid;
}

// The vault accepts 1,200 cards a minute of a merchant. Here one merchant has the payments of a whole installation.
const emptyEveryMs = 1_000;

async function emptyMerchantCount(site: PaymentSite, end: AbortSignal): Promise<void> {
  while (!end.aborted) {
    await forgetCards(site);
    await pause(emptyEveryMs, undefined, { signal: end }).catch(() => {});
  }
}

/** Resets the vault's count of the merchant's cards. */
export async function forgetCards({ ownerUrl }: PaymentSite): Promise<void> {
  const url = Object.assign(new URL(ownerUrl), { pathname: "/switchyard_vault" }).href;
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query("DELETE FROM tokenize_count WHERE counted_by = 'merchant'");
  await client.end();
}

/** Plays by turns, so that other load on the machine affects all of them. */
async function playOneByOne(
  site: PaymentSite,
  load: Child,
  { rounds, samples }: PaymentBenchOptions,
  onStep: (step: string) => void,
): Promise<PaymentRound[]> {
  const committer = await openCommitter(site.ownerUrl);
  const played: PaymentRound[] = [];
  try {
    for (let round = 0; round < rounds; round++) {
      onStep(`one at a time: ${round} of ${rounds} rounds played`);
      played.push({
        approved: await submitMany(load, orderOf(site, "approved"), samples),
        commit: await timeCommits(committer, samples),
        failover: await submitMany(load, orderOf(site, "failover"), samples),
      });
    }
  } finally {
    await committer.end();
  }
  return played;
}

async function openCommitter(ownerUrl: string): Promise<Client> {
  const url = Object.assign(new URL(ownerUrl), { pathname: "/switchyard_test" }).href;
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query("CREATE TABLE bench_commit (times integer NOT NULL); INSERT INTO bench_commit VALUES (0)");
  return client;
}

/** Times the smallest change that is durable on return: one row, one round trip. */
async function timeCommits(client: Client, samples: number): Promise<number[]> {
  const latenciesMs: number[] = [];
  for (let sample = 0; sample < samples; sample++) {
    const startedAt = performance.now();
    await client.query({ name: "commit", text: "UPDATE bench_commit SET times = times + 1" });
    latenciesMs.push(performance.now() - startedAt);
  }
  return latenciesMs;
}
