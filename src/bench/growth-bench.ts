/** Bench 10: whether creating and submitting a payment takes longer when a year of payments is in the tables already. */
import { statfs } from "node:fs/promises";
import { Client } from "pg";
import type { Child } from "../testing/child-process.ts";
import { type BenchBed, describePostgres } from "./bed.ts";
import { fillPayments, superuserUrlOf } from "./fill-payments.ts";
import { forgetCards, kinds } from "./payment-bench.ts";
import type { PaymentOrder, Submitted } from "./payment-load.ts";
import { PaymentSite } from "./payment-site.ts";

/** The sizes to compare, the first of which the others are compared with; rounds, and payments of a round on each size. */
export type GrowthOptions = {
  readonly sizes: readonly number[];
  readonly rounds: number;
  readonly samples: number;
};

/** Milliseconds of each creation and submission, round by round, where so many sessions are in the tables. */
export type Grown = {
  readonly sessions: number;
  readonly filledSeconds: number;
  readonly databaseMegabytes: number;
  readonly rounds: readonly { readonly createdMs: readonly number[]; readonly submittedMs: readonly number[] }[];
};

/** Everything that was measured. */
export type GrowthFigures = { readonly grown: readonly Grown[]; readonly postgres: BenchBed["postgres"] };

type Place = {
  readonly site: PaymentSite;
  readonly load: Child;
  readonly grown: Omit<Grown, "rounds"> & { rounds: Grown["rounds"][number][] };
};

// V8 has compiled the way of a payment by then, and PostgreSQL has settled on its plans.
const warmUpPayments = 60;

/**
 * A whole installation for each size, filled before anything is measured; then all of them by turns. No worker runs, so
 * that nothing but the payments is going on. Throws when a payment did not succeed.
 */
export async function measureGrowth(options: GrowthOptions, tell: (step: string) => void): Promise<GrowthFigures> {
  const places: Place[] = [];
  try {
    for (const sessions of options.sizes) places.push(await openPlace(sessions, tell));
    tell("warming up");
    for (const place of places) await pay(place, Math.min(warmUpPayments, 10 * options.samples));
    for (let round = 0; round < options.rounds; round++) {
      tell(`${round} of ${options.rounds} rounds played`);
      for (const place of round % 2 === 0 ? places : places.toReversed()) {
        place.grown.rounds.push(await pay(place, options.samples));
      }
    }
    return { grown: places.map(({ grown }) => grown), postgres: await describePostgres(places[0]!.site.ownerUrl) };
  } finally {
    for (const { site } of places) await site.close();
  }
}

async function openPlace(sessions: number, tell: (step: string) => void): Promise<Place> {
  tell(`starting an installation for ${sessions} sessions`);
  const site = await PaymentSite.open();
  try {
    await requireRoom(site, sessions);
    const startedAt = performance.now();
    const url = superuserUrlOf(databaseOf(site), site.folder);
    let told = 0;
    const onFilled = (filled: number) => {
      const tenth = Math.floor((10 * filled) / sessions);
      if (tenth > told) tell(`${filled} of ${sessions} sessions are in the tables`);
      told = tenth;
    };
    const merchantId = await askOne<string>(url, "SELECT merchant_id FROM endpoint");
    await fillPayments(url, { merchantId, count: sessions, onFilled });
    const filledSeconds = (performance.now() - startedAt) / 1_000;
    const grown = {
      sessions,
      filledSeconds,
      databaseMegabytes: await askOne<number>(url, selectMegabytes),
      rounds: [],
    };
    tell(`${sessions} sessions filled in ${filledSeconds.toFixed(0)} s, ${grown.databaseMegabytes} MiB`);
    return { site, load: site.startChild("payment-load.ts"), grown };
  } catch (error) {
    await site.close();
    throw error;
  }
}

// Rows and indexes of a session with its attempts, event and delivery, as filled; and what its write-ahead log may grow to.
const bytesOfSession = 3_300;
const logBytes = 5 * 1024 ** 3;

/** Throws when the disk of the database has not enough room: one that is full would take others down, too. */
async function requireRoom({ dataFolder }: PaymentSite, sessions: number): Promise<void> {
  const { bavail, bsize } = await statfs(dataFolder);
  const [free, needed] = [bavail * bsize, Math.min(sessions * bytesOfSession, logBytes) + sessions * bytesOfSession];
  const inGigabytes = (bytes: number) => (bytes / 1e9).toFixed(1);
  if (free < needed) {
    throw new Error(
      `${sessions} sessions need ${inGigabytes(needed)} GB of disk, and ${inGigabytes(free)} GB are free`,
    );
  }
}

function databaseOf({ ownerUrl }: PaymentSite): string {
  return Object.assign(new URL(ownerUrl), { pathname: "/switchyard_test" }).href;
}

const selectMegabytes = "SELECT (pg_database_size(current_database()) / 1048576)::int";

async function askOne<Answer>(url: string, question: string): Promise<Answer> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query({ text: question, rowMode: "array" });
    return rows[0]![0] as Answer;
  } finally {
    await client.end();
  }
}

async function pay({ site, load }: Place, count: number): Promise<Grown["rounds"][number]> {
  const order: PaymentOrder = { doors: site.doors, card: kinds.approved, status: "SUCCEEDED" };
  await forgetCards(site);
  const createdMs = await load.ask<readonly number[]>("prepare", { ...order, count });
  const { latenciesMs, failures } = await load.ask<Submitted>("submit", order);
  if (failures > 0) throw new Error(`${failures} of ${count} payments did not succeed`);
  return { createdMs, submittedMs: latenciesMs };
}
