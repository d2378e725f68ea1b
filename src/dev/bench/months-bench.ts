/** Row 10: compares payments with months and years of partitions in the database. */
import { setTimeout as pause } from "node:timers/promises";
import { askOne } from "../testing/with-client.ts";
import { fillPayments, superuserUrlOf } from "./fill-payments.ts";
import { kinds, payAndDeliver } from "./payment-bench.ts";
import type { Paid, PaymentOrder } from "./payment-load.ts";
import { databaseOf, PaymentSite } from "./payment-site.ts";
import { prepareQuiet, type QuietSample, takeQuietSample } from "./quiet-time.ts";

/** The numbers of months to compare, the first of which is the baseline, and the load of a round. */
export type MonthsOptions = {
  readonly months: readonly number[];
  /** Sessions of each month. With few, the reconciliation of those that no gateway knows costs nothing. */
  readonly sessionsOfMonth: number;
  readonly rounds: number;
  readonly seconds: number;
  readonly warmUp: number;
  readonly customers: number;
  readonly quietSamples: number;
  readonly quietSeconds: number;
};

/** A round of payments of many customers, and the CPU time of one in all processes, in milliseconds. */
type MonthsRound = Paid & { readonly cpuMs: number };

/** The figures with this many months of partitions, round by round and sample by sample. */
export type Aged = {
  readonly months: number;
  readonly rounds: readonly MonthsRound[];
  readonly quiet: readonly QuietSample[];
};

type Installation = {
  readonly site: PaymentSite;
  readonly load: ReturnType<PaymentSite["startChild"]>;
  readonly order: PaymentOrder;
  readonly aged: Aged & { rounds: MonthsRound[]; quiet: QuietSample[] };
};

// The current month and the next one, which the product creates itself.
const ownMonths = 2;

/** Starts an installation for each number of months and plays them by turns. Throws when a payment failed. */
export async function measureMonths(options: MonthsOptions, report: (step: string) => void): Promise<Aged[]> {
  const installations: Installation[] = [];
  try {
    for (const months of options.months) {
      report(`starting an installation with ${months} months of partitions`);
      installations.push(await openInstallation(months, options.sessionsOfMonth));
    }
    report("warming up");
    for (const installation of installations) await payRound(installation, options, options.warmUp);
    for (let round = 0; round < options.rounds; round++) {
      report(`months: ${round} of ${options.rounds} rounds played`);
      for (const installation of inTurn(installations, round)) {
        const paid = await payRound(installation, options, options.seconds);
        installation.aged.rounds.push(paid);
        const { months } = installation.aged;
        report(`${months} months: ${paid.payments} payments in ${(paid.elapsedMs / 1_000).toFixed(1)} s`);
      }
    }
    for (let sample = 0; sample < options.quietSamples; sample++) {
      report(`months: ${sample} of ${options.quietSamples} samples after ${options.quietSeconds} quiet seconds taken`);
      await takeSamples(inTurn(installations, sample), options.quietSeconds);
    }
    return installations.map(({ aged }) => aged);
  } catch (error) {
    for (const { site } of installations) site.printLogs();
    throw error;
  } finally {
    for (const { site } of installations) await site.close();
  }
}

function inTurn<Item>(items: readonly Item[], turn: number): readonly Item[] {
  return turn % 2 === 0 ? items : items.toReversed();
}

async function openInstallation(months: number, sessionsOfMonth: number): Promise<Installation> {
  const site = await PaymentSite.open();
  try {
    const url = superuserUrlOf(databaseOf(site), site.folder);
    const merchantId = await askOne<string>(url, "SELECT merchant_id FROM endpoint");
    const count = months * sessionsOfMonth;
    await fillPayments(url, { merchantId, count, pastMonths: months - ownMonths, onFilled: () => {} });
    await site.start("worker");
    const load = site.startChild("payment-load.ts");
    const order: PaymentOrder = { doors: site.doors, card: kinds.approved, status: "SUCCEEDED" };
    const partitions = await askOne<number>(url, selectMonthly);
    if (partitions !== months) throw new Error(`${partitions} months have partitions, not ${months}`);
    return { site, load, order, aged: { months, rounds: [], quiet: [] } };
  } catch (error) {
    await site.close();
    throw error;
  }
}

const selectMonthly = "SELECT count(*)::int FROM app.partition_sets WHERE kind = 'payments'";

async function payRound({ site, load }: Installation, options: MonthsOptions, seconds: number): Promise<MonthsRound> {
  const paid = await payAndDeliver(site, load, { ...options, seconds, doors: site.doors });
  return { ...paid, cpuMs: Object.values(paid.cpuMs).reduce((sum, ms) => sum + ms, 0) };
}

/** The installations share the quiet time; each then submits in its turn. */
async function takeSamples(installations: readonly Installation[], quietSeconds: number): Promise<void> {
  for (const { load, order } of installations) {
    await prepareQuiet(load, order);
  }
  await pause(quietSeconds * 1_000);
  for (const { load, order, aged } of installations) aged.quiet.push(await takeQuietSample(load, order));
}
