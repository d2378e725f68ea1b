/** One chaos run from its first start to its verdict: load and faults, then calm, then everything is compared. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { CardBehaviour } from "../../gateways/sandbox/card-behaviour.ts";
import type { FaultPlan } from "../../gateways/sandbox/faults.ts";
import { testCards } from "../../gateways/sandbox/test-cards.ts";
import { comparisonLagMs, repeatLongestMs } from "../../limits.ts";
import { Dice } from "../dice.ts";
import { Browser } from "./browser.ts";
import { findViolations, type Violation } from "./check.ts";
import { strikeUntil } from "./killer.ts";
import { Load } from "./load.ts";
import { Merchant } from "./merchant.ts";
import { readRecords } from "./read-records.ts";
import type { Records } from "./records.ts";
import { Site } from "./site.ts";
import { countOpen, expireIn, expireUnsubmitted, makeComparisonDue, readComparison } from "./site-database.ts";
import type { SiteGateways } from "./site-merchant.ts";
import { Tally } from "./tally.ts";

/** How long a run rages, how hard, and by which seed. */
export type ChaosOptions = {
  readonly minutes: number;
  /** Decides what is done to whom; when each thing happens is the machine's. */
  readonly seed: number;
  /** New sessions in a second. */
  readonly rate: number;
  /** The two pretend gateways, unless the stand-ins of the real ones are to be asked before them. */
  readonly gateways?: SiteGateways | undefined;
  /** Keeps the state folder although nothing is wrong. */
  readonly keep?: boolean | undefined;
};

type Phase = "chaos" | "coming to rest";

/** What the run is busy with. */
export type Moment = {
  readonly phase: Phase;
  readonly elapsedS: number;
  readonly totalS: number;
  readonly orders: number;
  /** Sessions that are not done; undefined while the database is down. */
  readonly open: number | undefined;
  /** What is not as it has to be yet; undefined until somebody looks. */
  readonly violations: number | undefined;
  readonly tally: Tally;
};

/** What a run has shown. */
export type Verdict = {
  readonly options: ChaosOptions;
  readonly tookS: number;
  readonly records: Records;
  readonly violations: readonly Violation[];
  readonly faults: Readonly<Record<string, number>>;
  /** What the service's own comparison with the gateways came to, run once everything was at rest. */
  readonly comparison: Readonly<Record<string, number>> | undefined;
  readonly tally: Tally;
  /** Where everything is kept, when something is wrong or it was asked for: the state folder first. */
  readonly kept: readonly string[];
};

const second = 1_000;
const seedMax = 2 ** 31 - 1;

// About every fifth request meets a fault, so that most payments meet one and hardly any meets nothing else.
const faultRates: FaultPlan["rates"] = {
  request_lost: 0.04,
  executed_late: 0.03,
  // Past SANDBOX_B's horizon, as when whoever sends it is stopped that long: a hold that nobody waits for any more.
  executed_too_late: 0.01,
  executed_twice: 0.03,
  answer_lost: 0.04,
  answered_late: 0.03,
  error_after: 0.03,
  result_late: 0.15,
  notice_late: 0.15,
  notice_twice: 0.1,
};
// Twice our timeout: after the answer was given up and mostly after the session ended, and well within the 30 s that
// SANDBOX_B promises for executing a request (gateways/sandbox/connector-parts.ts).
const lateMsMax = 20 * second;
// With the end of the faults everything late goes on at once; what it brings about has come in this long after.
const quietMs = 30 * second;
const restMsMax = 12 * 60 * second;
// Captures and voids that kept failing are tried every five minutes at last: what does not change for longer never will.
const stuckMs = repeatLongestMs + 60 * second;
const lookEveryMs = 2 * second;

// A card whose capture is reported as failed long after it was taken on has no money to compare with.
const failsLater = (behaviour: CardBehaviour) => behaviour.act === "approve" && behaviour.capture === "fail_later";
const cards = testCards.filter(({ onA, onB }) => !failsLater(onA) && !failsLater(onB));
const approved = cards.filter(({ group }) => group === "approved");
const ofApproved = 4;

/**
 * Runs chaos and gives the verdict; undefined when it was told to end before there was one. Leaves nothing behind, but
 * for the state folder when something is wrong.
 */
export async function runChaos(
  options: ChaosOptions,
  watch: { signal: AbortSignal; show: (moment: Moment) => void },
): Promise<Verdict | undefined> {
  const tally = new Tally();
  const startedAt = Date.now();
  const dice = new Dice(options.seed);
  const merchant = await Merchant.start({ dice: fork(dice), tally });
  const browser = new Browser(tally);
  let site: Site | undefined;
  let keeps = false;
  try {
    site = await Site.open(tally);
    const { secretKey, signingSecret } = await site.openMerchant(merchant.webhookUrl, options.gateways);
    merchant.trust(signingSecret);
    const { databaseUrl, edgeOrigins: edges, vaultOrigin } = site;
    const shop = { browser, secretKey, edges, vaultOrigin, cards: cardNumbers(), expireIn: expireIn(databaseUrl) };
    const load = new Load(shop, fork(dice));
    const run = { site, load, merchant, tally, options, watch };
    await during(run, { phase: "chaos", totalS: options.minutes * 60 }, () => rage(run, dice));
    const rest: Work = { phase: "coming to rest", totalS: restMsMax / second };
    const { records, violations, comparison } = await during(run, rest, (state) => comeToRest(run, state));
    if (watch.signal.aborted) return undefined;
    keeps = violations.length > 0 || options.keep === true;
    if (keeps) await keepRecords(site, { records, violations });
    return {
      options,
      tookS: (Date.now() - startedAt) / second,
      records,
      violations,
      faults: await site.acquirers.faults(),
      comparison,
      tally,
      kept: keeps ? site.folders : [],
    };
  } finally {
    await browser.close();
    await site?.end();
    await merchant.close();
    if (!keeps) await site?.remove();
  }
}

type Run = {
  readonly site: Site;
  readonly load: Load;
  readonly merchant: Merchant;
  readonly tally: Tally;
  readonly options: ChaosOptions;
  readonly watch: { readonly signal: AbortSignal; readonly show: (moment: Moment) => void };
};

type Work = { readonly phase: Phase; readonly totalS: number; violations?: number | undefined };

/** Shows every second how a part of the run is getting on. */
async function during<Result>(run: Run, part: Work, work: (part: Work) => Promise<Result>): Promise<Result> {
  const { site, load, tally, watch } = run;
  const startedAt = Date.now();
  const show = async () => {
    const open = await countOpen(site.databaseUrl);
    const elapsedS = (Date.now() - startedAt) / second;
    watch.show({ ...part, violations: part.violations, elapsedS, orders: load.orders.length, open, tally });
  };
  const ticker = setInterval(() => void show(), second);
  try {
    return await work(part);
  } finally {
    clearInterval(ticker);
  }
}

/** Customers come, and everything goes wrong, for as long as was asked for. */
async function rage({ site, load, options, watch }: Run, dice: Dice): Promise<void> {
  const end = AbortSignal.any([watch.signal, AbortSignal.timeout(options.minutes * 60 * second)]);
  await site.acquirers.setFaults({ seed: String(options.seed), rates: faultRates, lateMsMax });
  await Promise.all([load.run(options.rate, end), strikeUntil(end, site, fork(dice))]);
}

/** Looks until nothing is wrong, nothing can come any more and the records were compared, or until that has taken too long. */
async function comeToRest(run: Run, part: Work): Promise<Pick<Verdict, "records" | "violations" | "comparison">> {
  const { site, load, merchant, watch } = run;
  const startedAt = Date.now();
  merchant.calm();
  await site.calm();
  if (!watch.signal.aborted) await load.empty();
  const quietFrom = Math.max(Date.now(), startedAt + quietMs);
  let changedAt = Date.now();
  let before = "";
  let comparedSince: Date | undefined;
  for (;;) {
    // Time passes for those who never paid: every session ends.
    await expireUnsubmitted(site.databaseUrl);
    const records = { ...(await readRecords(site.databaseUrl, site.acquirers)), ...seenBy(run) };
    const violations = findViolations(records);
    part.violations = violations.length;
    const now = Date.now();
    const seen = JSON.stringify(violations);
    if (seen !== before) changedAt = now;
    before = seen;
    // Only what is older than its lag is compared.
    const isDue = violations.every(isForComparison) && now > Math.max(changedAt, quietFrom) + comparisonLagMs;
    if (isDue) comparedSince ??= await makeComparisonDue(site.databaseUrl);
    const comparison = comparedSince && (await readComparison(site.databaseUrl, comparedSince));
    const isRight = violations.length === 0 && comparison !== undefined;
    const isStuck = now > changedAt + stuckMs || now > startedAt + restMsMax;
    if (isRight || isStuck || watch.signal.aborted) return { records, violations, comparison };
    await pause(lookEveryMs, undefined, { signal: watch.signal }).catch(() => {});
  }
}

/** What the comparison may put right. */
function isForComparison({ kind }: Violation): boolean {
  return kind === "late_hold" || kind === "hold_left" || kind === "work_item";
}

function seenBy({ load, merchant }: Run): Pick<Records, "orders" | "webhooks"> {
  return { orders: load.orders, webhooks: merchant.arrivals };
}

/** The acquirers and the merchant keep nothing on disk. */
async function keepRecords({ stateFolder }: Site, kept: object): Promise<void> {
  await writeFile(join(stateFolder, "records.json"), JSON.stringify(kept, null, 1));
}

/** Every card once, and the plain ones as often as all others together would be too many. */
function cardNumbers(): string[] {
  const plain = approved.flatMap(({ number }) => Array.from({ length: ofApproved }, () => number));
  return [...plain, ...cards.map(({ number }) => number)];
}

/** Dice of their own for each part: what one draws does not change what another gets. */
function fork(dice: Dice): Dice {
  return new Dice(dice.between(0, seedMax));
}
