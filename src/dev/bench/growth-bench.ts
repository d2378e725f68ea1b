/** Row 10: compares the time to create and submit a payment with and without a year of payments in the tables. */
import { statfs } from "node:fs/promises";
import type { Child } from "../testing/child-process.ts";
import { askOne } from "../testing/with-client.ts";
import { fillPayments, superuserUrlOf } from "./fill-payments.ts";
import { type BenchHarness, describePostgres } from "./harness.ts";
import { kinds } from "./payment-bench.ts";
import type { PaymentOrder, Submitted } from "./payment-load.ts";
import { databaseOf, PaymentSite } from "./payment-site.ts";

/** The sizes to compare, the first of which is the baseline; the rounds, and the payments of a round at each size. */
export type GrowthOptions = {
  readonly sizes: readonly number[];
  readonly rounds: number;
  readonly samples: number;
};

/** Milliseconds of each creation and submission, round by round, with this many sessions in the tables. */
export type Grown = {
  readonly sessions: number;
  readonly filledSeconds: number;
  readonly databaseMegabytes: number;
  readonly rounds: readonly { readonly createdMs: readonly number[]; readonly submittedMs: readonly number[] }[];
};

export type GrowthFigures = { readonly grown: readonly Grown[]; readonly postgres: BenchHarness["postgres"] };

type FilledInstallation = {
  readonly site: PaymentSite;
  readonly load: Child;
  readonly grown: Omit<Grown, "rounds"> & { rounds: Grown["rounds"][number][] };
};

// By then V8 has compiled the code path of a payment, and PostgreSQL's plans are stable.
const warmUpPayments = 60;

/**
 * Starts a whole installation for each size, all filled before the first measurement; then plays them by turns. No
 * worker runs, so that only the payments cause load. Throws when a payment did not succeed.
 */
export async function measureGrowth(options: GrowthOptions, report: (step: string) => void): Promise<GrowthFigures> {
  const installations: FilledInstallation[] = [];
  try {
    for (const sessions of options.sizes) installations.push(await openInstallation(sessions, report));
    report("warming up");
    for (const installation of installations) await pay(installation, Math.min(warmUpPayments, 10 * options.samples));
    for (let round = 0; round < options.rounds; round++) {
      report(`${round} of ${options.rounds} rounds played`);
      for (const installation of round % 2 === 0 ? installations : installations.toReversed()) {
        installation.grown.rounds.push(await pay(installation, options.samples));
      }
    }
    return {
      grown: installations.map(({ grown }) => grown),
      postgres: await describePostgres(installations[0]!.site.ownerUrl),
    };
  } catch (error) {
    for (const { site } of installations) site.printLogs();
    throw error;
  } finally {
    for (const { site } of installations) await site.close();
  }
}

async function openInstallation(sessions: number, report: (step: string) => void): Promise<FilledInstallation> {
  report(`starting an installation for ${sessions} sessions`);
  const site = await PaymentSite.open();
  try {
    await requireRoom(site, sessions);
    const startedAt = performance.now();
    const url = superuserUrlOf(databaseOf(site), site.folder);
    let reported = 0;
    const onFilled = (filled: number) => {
      const tenth = Math.floor((10 * filled) / sessions);
      if (tenth > reported) report(`${filled} of ${sessions} sessions are in the tables`);
      reported = tenth;
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
    report(`${sessions} sessions filled in ${filledSeconds.toFixed(0)} s, ${grown.databaseMegabytes} MiB`);
    return { site, load: site.startChild("payment-load.ts"), grown };
  } catch (error) {
    await site.close();
    throw error;
  }
}

// Rows and indexes of a session with its attempts, event and delivery, as filled; and the maximum of its write-ahead
// log.
const bytesOfSession = 3_300;
const logBytes = 5 * 1024 ** 3;

/** Throws if the database's disk has too little room: a full disk would stop other programs, too. */
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

const selectMegabytes = "SELECT (pg_database_size(current_database()) / 1048576)::int";

async function pay({ site, load }: FilledInstallation, count: number): Promise<Grown["rounds"][number]> {
  const order: PaymentOrder = { doors: site.doors, card: kinds.approved, status: "SUCCEEDED" };
  const createdMs = await load.ask<readonly number[]>("prepare", { ...order, count });
  const { latenciesMs, failures } = await load.ask<Submitted>("submit", order);
  if (failures > 0) throw new Error(`${failures} of ${count} payments did not succeed`);
  return { createdMs, submittedMs: latenciesMs };
}
