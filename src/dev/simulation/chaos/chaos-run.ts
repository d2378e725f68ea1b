/** Plays one chaos run from start to verdict: load and faults, then a calm phase, then a reconciliation of all records. */
import { writeFile } from "node:fs/promises";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { authenticationCards } from "../../../gateways/sandbox/authentication-cards.ts";
import type { CardBehaviour, TestCard } from "../../../gateways/sandbox/card-behaviour.ts";
import { disputeCards } from "../../../gateways/sandbox/dispute-cards.ts";
import { providerCards } from "../../../gateways/sandbox/provider-cards.ts";
import { testCards } from "../../../gateways/sandbox/test-cards.ts";
import { customerTimeMs, reconciliationLagMs, repeatLongestMs } from "../../../limits.ts";
import type { FaultPlan } from "../../../sandbox/faults.ts";
import { Dice } from "../dice.ts";
import { declinedAgainCard, retriedCard, setRetryCards } from "../retry-cards.ts";
import { Browser } from "./browser.ts";
import { findViolations, type Violation } from "./check.ts";
import { strikeUntil } from "./killer.ts";
import { Load } from "./load.ts";
import { Merchant } from "./merchant.ts";
import { readRecords } from "./read-records.ts";
import type { Outage, Records } from "./records.ts";
import { Site } from "./site.ts";
import {
  countOpen,
  expireIn,
  expireUnsubmitted,
  isCustomerAsked,
  makeReconciliationDue,
  moveClock,
  readReconciliation,
} from "./site-database.ts";
import type { SiteGateways } from "./site-merchant.ts";
import { Tally } from "./tally.ts";

export type ChaosOptions = {
  readonly minutes: number;
  /** Decides the faults and their targets; their exact times depend on the machine. */
  readonly seed: number;
  /** New sessions per second. */
  readonly rate: number;
  /** The two sandbox gateways by default; the emulators of the real ones beside them if chosen. */
  readonly gateways?: SiteGateways | undefined;
  /** The number of the environment's cells, each with its own PostgreSQL and merchant; 1 by default. */
  readonly cells?: number | undefined;
  /** Keeps the state folder even if nothing is wrong. */
  readonly keep?: boolean | undefined;
};

type Phase = "chaos" | "coming to rest";

export type Moment = {
  readonly phase: Phase;
  readonly elapsedS: number;
  readonly totalS: number;
  readonly orders: number;
  /** Number of unfinished sessions; undefined while the database is down. */
  readonly open: number | undefined;
  /** Number of violations at the last check; undefined before the first. */
  readonly violations: number | undefined;
  readonly tally: Tally;
};

export type Verdict = {
  readonly options: ChaosOptions;
  readonly tookS: number;
  /** Processes that ran or waited for a processor, by the system's count over a minute. */
  readonly load: { readonly mean: number; readonly max: number; readonly cores: number };
  readonly records: Records;
  readonly violations: readonly Violation[];
  readonly faults: Readonly<Record<string, number>>;
  /** The result of the service's own reconciliation with the gateways, run once everything was at rest. */
  readonly reconciliation: Readonly<Record<string, number>> | undefined;
  readonly tally: Tally;
  /** The kept files, when something is wrong or they were requested: the state folder first. */
  readonly kept: readonly string[];
};

const second = 1_000;
const seedMax = 2 ** 31 - 1;

// About every fifth request meets a fault, so that most payments meet one and hardly any meets only faults.
const faultRates: FaultPlan["rates"] = {
  request_lost: 0.04,
  executed_late: 0.03,
  // Past SANDBOX_B's latest execution time, as when the sender is stopped that long: a hold that nothing waits for.
  executed_too_late: 0.01,
  executed_twice: 0.03,
  answer_lost: 0.04,
  answered_late: 0.03,
  error_after: 0.03,
  result_late: 0.15,
  notification_late: 0.15,
  notification_twice: 0.1,
};
// Additional faults with the emulators of the real gateways. An error kept under a key occurs at Stripe and Adyen. A
// lost notification arrives when Adyen repeats it, which is after the run's faults.
const faultRatesOfAll: FaultPlan["rates"] = {
  ...faultRates,
  answer_cut: 0.02,
  answer_garbled: 0.02,
  error_kept: 0.03,
  notification_lost: 0.05,
};
// Twice our timeout: after the call timed out and mostly after the session ended, and well within the 30 s that
// SANDBOX_B promises for executing a request (gateways/sandbox/connector-parts.ts).
const lateMsMax = 20 * second;
// Everything delayed continues when the faults end; its effects have arrived after this time.
const quietMs = 30 * second;
// Within the same promise, and three to four times it past the latest execution times of ADYEN (80 s) and mostly of
// PAYPAL (110 s).
const lateMsMaxOfAll = 29 * second;
const restMsMax = 12 * 60 * second;
// Captures and voids that keep failing are retried at least every five minutes: a state that stays the same for longer
// never changes.
const stuckMs = repeatLongestMs + 60 * second;
const lookEveryMs = 2 * second;
// Past the time in which a customer may answer, and then past the time for which SANDBOX_B may still hold by itself.
const pastCustomerMs = customerTimeMs + 60 * second;
const pastActionMs = pastCustomerMs + 75 * 60 * second;
// A session whose customer has left is given up within seconds.
const givenUpWithinMs = 60 * second;

// A capture that is accepted and much later reported as failed leaves no money to compare.
const failsLater = (behaviour: CardBehaviour) => behaviour.act === "approve" && behaviour.capture === "fail_later";
const cards = testCards.filter(({ onA, onB }) => !failsLater(onA) && !failsLater(onB));
// ADYEN accepts every capture, and reports a refusal later.
const refused = ({ onB }: TestCard) => onB.act === "approve" && onB.capture === "refuse";
const ofApproved = 4;
const ofAsking = 3;
const ofRetried = 24;
const ofDeclinedAgain = 6;
const ofDisputed = 3;

/**
 * Runs chaos and returns the verdict; undefined when it was interrupted before there was one. Removes everything,
 * except the state folder when something is wrong.
 */
export async function runChaos(
  options: ChaosOptions,
  observer: { signal: AbortSignal; show: (moment: Moment) => void },
): Promise<Verdict | undefined> {
  const tally = new Tally();
  const startedAt = Date.now();
  const dice = new Dice(options.seed);
  const merchants: Merchant[] = [];
  for (let cell = 1; cell <= (options.cells ?? 1); cell++)
    merchants.push(await Merchant.start({ dice: fork(dice), tally }));
  const browser = new Browser(tally);
  let site: Site | undefined;
  let keeps = false;
  try {
    site = await Site.open(tally, merchants.length);
    await setRetryCards(site.acquirers);
    const loads: Load[] = [];
    const late: (() => Promise<void>)[] = [];
    for (const [index, merchant] of merchants.entries()) {
      const { secretKey, signingSecret } = await site.openMerchant(merchant.webhookUrl, options.gateways, index + 1);
      merchant.trust(signingSecret);
      const { ownerUrls, edgeOrigins: edges, vaultOrigin } = site;
      const shop = {
        browser,
        tally,
        secretKey,
        edges,
        vaultOrigin,
        cards: cardNumbers(options),
        later: (act: () => Promise<void>) => void late.push(act),
        orders: [],
        expireIn: expireIn(ownerUrls[index]!),
      };
      loads.push(new Load(shop, fork(dice), index === 0 ? "order" : `cell-${index + 1}`));
    }
    const run = { site, loads, merchants, late, tally, options, observer, seenLoads: [], outages: [] };
    await during(run, { phase: "chaos", totalS: options.minutes * 60 }, () => rage(run, dice));
    const rest: Work = { phase: "coming to rest", totalS: restMsMax / second };
    const { records, violations, reconciliation } = await during(run, rest, (state) => comeToRest(run, state));
    if (observer.signal.aborted) return undefined;
    keeps = violations.length > 0 || options.keep === true;
    if (keeps) await keepRecords(site, { records, violations });
    return {
      options,
      tookS: (Date.now() - startedAt) / second,
      load: describeLoad(run.seenLoads),
      records,
      violations,
      faults: await site.acquirers.faults(),
      reconciliation,
      tally,
      kept: keeps ? site.folders : [],
    };
  } finally {
    await browser.close();
    await site?.end();
    await Promise.all(merchants.map((merchant) => merchant.close()));
    if (!keeps) await site?.remove();
  }
}

type Run = {
  readonly site: Site;
  readonly loads: readonly Load[];
  readonly merchants: readonly Merchant[];
  /** Acts of customers at their banks for which it is too late. */
  readonly late: readonly (() => Promise<void>)[];
  readonly tally: Tally;
  readonly options: ChaosOptions;
  readonly observer: { readonly signal: AbortSignal; readonly show: (moment: Moment) => void };
  readonly seenLoads: number[];
  /** Filled in while the run continues. */
  readonly outages: Outage[];
};

type Work = { readonly phase: Phase; readonly totalS: number; violations?: number | undefined };

async function during<Result>(run: Run, part: Work, work: (part: Work) => Promise<Result>): Promise<Result> {
  const { site, tally, observer } = run;
  const startedAt = Date.now();
  let lookedAt = new Date().toISOString();
  const show = async () => {
    run.seenLoads.push(loadavg()[0]!);
    const now = new Date().toISOString();
    const canTakeOver = site.workers.some(({ isUp }) => isUp) && site.postgres.every(({ isUp }) => isUp);
    if (!canTakeOver) run.outages.push({ from: lookedAt, to: now });
    lookedAt = now;
    const counts = await Promise.all(site.databaseUrls.map(countOpen));
    const open = counts.reduce<number | undefined>(
      (sum, count) => (sum === undefined || count === undefined ? undefined : sum + count),
      0,
    );
    const elapsedS = (Date.now() - startedAt) / second;
    const orders = seenBy(run).orders.length;
    observer.show({ ...part, violations: part.violations, elapsedS, orders, open, tally });
  };
  const ticker = setInterval(() => void show(), second);
  try {
    return await work(part);
  } finally {
    clearInterval(ticker);
  }
}

function describeLoad(seen: readonly number[]): Verdict["load"] {
  const sum = seen.reduce((total, one) => total + one, 0);
  return { mean: sum / seen.length, max: Math.max(...seen), cores: availableParallelism() };
}

async function rage({ site, loads, options, observer }: Run, dice: Dice): Promise<void> {
  const end = AbortSignal.any([observer.signal, AbortSignal.timeout(options.minutes * 60 * second)]);
  const faults =
    options.gateways === "all"
      ? { rates: faultRatesOfAll, lateMsMax: lateMsMaxOfAll }
      : { rates: faultRates, lateMsMax };
  await site.acquirers.setFaults({ seed: String(options.seed), ...faults });
  const rate = options.rate / loads.length;
  await Promise.all([...loads.map((load) => load.run(rate, end)), strikeUntil(end, site, fork(dice))]);
}

/** Checks until the records are right, at rest and reconciled, or for too long. */
async function comeToRest(run: Run, part: Work): Promise<Pick<Verdict, "records" | "violations" | "reconciliation">> {
  const { site, loads, merchants, observer } = run;
  const { databaseUrls } = site;
  const startedAt = Date.now();
  for (const merchant of merchants) merchant.calm();
  await site.calm();
  if (!observer.signal.aborted) await Promise.all(loads.map((load) => load.empty()));
  const quietFrom = Math.max(Date.now(), startedAt + quietMs);
  const clockMovedAt = await passTime(run, quietFrom);
  let changedAt = Date.now();
  let before = "";
  let reconciledSince: readonly Date[] | undefined;
  for (;;) {
    // Time passes for customers who never paid: every session ends.
    await Promise.all(site.ownerUrls.map(expireUnsubmitted));
    const records = {
      ...(await readRecords(databaseUrls, site.acquirers)),
      ...seenBy(run),
      clockMovedAt,
      outages: run.outages,
    };
    const violations = findViolations(records);
    part.violations = violations.length;
    const now = Date.now();
    const seen = JSON.stringify(violations);
    if (seen !== before) changedAt = now;
    before = seen;
    // Reconciliation covers only records that are older than its lag.
    const isDue =
      violations.every((one) => isHistory(one) || isForReconciliation(one)) &&
      now > Math.max(changedAt, quietFrom) + reconciliationLagMs;
    if (isDue) reconciledSince ??= await Promise.all(databaseUrls.map(makeReconciliationDue));
    const reconciliation = reconciledSince && (await readReconciliations(databaseUrls, reconciledSince));
    const isReconciled = violations.every(isHistory) && reconciliation !== undefined;
    const isStuck = now > changedAt + stuckMs || now > startedAt + restMsMax;
    if (isReconciled || isStuck || observer.signal.aborted) return { records, violations, reconciliation };
    await pause(lookEveryMs, undefined, { signal: observer.signal }).catch(() => {});
  }
}

/**
 * Lets the time pass for customers who have not answered their bank, by the databases' clocks: their payments are given
 * up, some of them answer all the same, and no hold can follow. Returns the times to which the clocks were set.
 */
async function passTime({ site, late, observer }: Run, quietFrom: number): Promise<readonly string[]> {
  const { signal } = observer;
  const wait = (ms: number) => pause(Math.max(0, ms), undefined, { signal }).catch(() => {});
  // Late executions at the gateways come before the clocks are moved.
  await wait(quietFrom - Date.now());
  if (signal.aborted) return [];
  const move = (aheadMs: number) => Promise.all(site.ownerUrls.map((url) => moveClock(url, aheadMs)));
  const moved = await move(pastCustomerMs);
  const end = Date.now() + givenUpWithinMs;
  while (Date.now() < end && (await Promise.all(site.databaseUrls.map(isCustomerAsked))).includes(true)) {
    await wait(lookEveryMs);
  }
  await Promise.all(late.map((act) => act()));
  // Their notifications arrive.
  await wait(lookEveryMs);
  return [...moved, ...(await move(pastActionMs))];
}

/** True for a violation that reconciliation may correct. */
function isForReconciliation({ kind }: Violation): boolean {
  return kind === "late_hold" || kind === "hold_left" || kind === "work_item";
}

/** True for a violation that stays whatever follows. */
function isHistory({ kind }: Violation): boolean {
  return kind === "past_bound";
}

/** Adds up the reconciliations of the cells; undefined until each is finished. */
async function readReconciliations(databaseUrls: readonly string[], since: readonly Date[]) {
  const found = await Promise.all(databaseUrls.map((url, index) => readReconciliation(url, since[index]!)));
  const sums: Record<string, number> = {};
  for (const one of found) {
    if (one === undefined) return undefined;
    for (const [name, count] of Object.entries(one)) sums[name] = (sums[name] ?? 0) + count;
  }
  return sums;
}

function seenBy({ loads, merchants }: Run): Pick<Records, "orders" | "webhooks"> {
  return { orders: loads.flatMap(({ orders }) => orders), webhooks: merchants.flatMap(({ arrivals }) => arrivals) };
}

/** Stores the records of the acquirers and the merchant, who keep nothing on disk. */
async function keepRecords({ stateFolder }: Site, kept: object): Promise<void> {
  await writeFile(join(stateFolder, "records.json"), JSON.stringify(kept, null, 1));
}

/**
 * Returns every card once, and the plain ones more often: as often as all others together would be too many. Cards
 * whose bank challenges the customer do so at the sandbox gateways and at the provider, and a third of the payments are
 * made with them. About every sixth payment meets a gateway that asks to try again.
 */
function cardNumbers({ gateways }: ChaosOptions): string[] {
  const all = gateways === "all" ? cards.filter((card) => !refused(card)) : cards;
  const approved = all.filter(({ group }) => group === "approved");
  const plain = approved.flatMap(({ number }) => Array.from({ length: ofApproved }, () => number));
  const asking = authenticationCards.flatMap(({ number }) => Array.from({ length: ofAsking }, () => number));
  const disputed = disputeCards.flatMap(({ number }) => Array.from({ length: ofDisputed }, () => number));
  const provided = providerCards.map(({ number }) => number);
  const again = [
    ...Array.from({ length: ofRetried }, () => retriedCard),
    ...Array.from({ length: ofDeclinedAgain }, () => declinedAgainCard),
  ];
  return [...plain, ...all.map(({ number }) => number), ...asking, ...disputed, ...provided, ...again];
}

/** Derives separate dice for each part: the draws of one do not change those of another. */
function fork(dice: Dice): Dice {
  return new Dice(dice.between(0, seedMax));
}
