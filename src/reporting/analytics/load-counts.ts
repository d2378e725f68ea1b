/**
 * Reads the counts of a merchant's settled payments, point by point: stored counts, and payments that were settled
 * since.
 */

import type { Arm } from "../../core/rows/entities.ts";
import type { Reads, Statement } from "../../platform/database.ts";
import type { MerchantId } from "../../platform/ids.ts";
import { type CutRange, stretchesOf } from "./analytics-range.ts";
import {
  type CountedTable,
  countedArmCosts,
  countedArms,
  countedAttempts,
  countedAuthentications,
  countedCards,
  countedDeclines,
  countedMinutes,
  countedPayments,
  countedRenewals,
  countedWallets,
  fence,
  isPayment,
} from "./counted-facts.ts";
import { readHistogram } from "./latency-histogram.ts";

export type PaymentCounts = {
  readonly point: number;
  readonly currency: string;
  readonly succeeded: number;
  /** Approved, and then cancelled by the merchant or not captured in time. */
  readonly released: number;
  readonly declined: number;
  readonly degraded: number;
  readonly expired: number;
  readonly saved: number;
  /** Payments whose customer was challenged. */
  readonly challenged: number;
  /** Payments with an authentication that passed, and those of them that failover saved. */
  readonly authenticated: number;
  readonly savedAuthenticated: number;
  /** Payments with more than one challenge. */
  readonly challengedAgain: number;
  /** Exact, because a range may exceed the range of a number. */
  readonly volumeMinor: bigint;
  readonly savedMinor: bigint;
  /** The part for which the card's issuer is liable. */
  readonly issuerMinor: bigint;
  /** Latency from submission to outcome. */
  readonly latency: readonly number[];
};

export type AttemptCounts = {
  readonly point: number;
  readonly gateway: string;
  readonly approved: number;
  readonly hardDeclined: number;
  readonly softDeclined: number;
  readonly fraudDeclined: number;
  readonly timeouts: number;
  readonly gatewayErrors: number;
  readonly unknown: number;
  /** Declines that asked for authentication, and those of them whose payment succeeded all the same. */
  readonly authenticationRequired: number;
  readonly recovered: number;
  /** Latency from the start to the gateway's answer, or to the time at which it was given up. */
  readonly latency: readonly number[];
};

export type DeclineCounts = {
  readonly point: number;
  readonly gateway: string;
  readonly declineCode: string;
  readonly attempts: number;
};

/** Settled payments that were submitted with cards of one brand, or of one issuing country, in one point. */
export type CardCounts = {
  readonly point: number;
  readonly fact: "BRAND" | "COUNTRY";
  /** Empty if it is not known. */
  readonly value: string;
  readonly succeeded: number;
  /** Approved, and then cancelled by the merchant or not captured in time. */
  readonly released: number;
  readonly declined: number;
  readonly degraded: number;
  readonly saved: number;
};

/** Settled payments that their merchant made without the customer. */
export type RenewalCounts = Pick<CardCounts, "succeeded" | "released" | "declined" | "degraded" | "saved">;

/** Settled payments by one wallet, and the second uses of their cryptograms. */
export type WalletCounts = RenewalCounts & {
  /** Empty if the vault did not answer with it. */
  readonly wallet: string;
  readonly resendsApproved: number;
  readonly resendsRefused: number;
};

/** Authentications of settled payments at one gateway or provider, in one point. */
export type AuthenticationCounts = {
  readonly point: number;
  readonly gateway: string;
  readonly passed: number;
  readonly exempted: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly abandoned: number;
  readonly unavailable: number;
  /** The authentications, of all, without a challenge. */
  readonly frictionless: number;
  /** The authentications, of all, with a challenge that no page has shown. */
  readonly neverShown: number;
  readonly issuerLiable: number;
  /** Time from the bank's page to the answer, in units of `timeAtBankUnit` milliseconds. */
  readonly latency: readonly number[];
};

/** The arm of a split: the version of the rule, the name of the case, empty for the default plan, and the arm. */
type ArmKey = { readonly ruleVersion: number; readonly caseName: string; readonly arm: Arm };

/** Settled payments of one arm, in the whole range. */
export type ArmCounts = ArmKey & {
  readonly succeeded: number;
  /** Approved, and then cancelled by the merchant or not captured in time. */
  readonly released: number;
  readonly declined: number;
  readonly degraded: number;
  readonly saved: number;
  readonly latency: readonly number[];
};

/** Operations that one gateway charges for in one arm and currency, in the whole range. */
export type ArmCosts = ArmKey & {
  readonly gateway: string;
  readonly currency: string;
  readonly attempts: number;
  readonly captured: number;
  readonly voided: number;
  readonly capturedMinor: bigint;
};

export type RangeCounts = {
  readonly payments: readonly PaymentCounts[];
  readonly attempts: readonly AttemptCounts[];
  readonly declines: readonly DeclineCounts[];
  readonly authentications: readonly AuthenticationCounts[];
  readonly cards: readonly CardCounts[];
};

const camel = (name: string) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
const named = (columns: readonly string[]) => columns.map((name) => `${name} AS "${camel(name)}"`);

// Each stretch is a range of the primary key. One statement sees the counts and their progress in one snapshot, so no
// payment is missed or counted twice.
function selectCounts({ table, keys, sums, facts }: CountedTable, groups: readonly string[]): Statement {
  const columns = [...keys, ...sums].map((name) => `r.${name}`);
  const since = `s.merchant_id = $1 AND s.settled_at >= greatest((SELECT counted_until FROM analytics_walk), $7)
    AND s.settled_at < $8 AND ${isPayment}`;
  // A count never reaches 2^53 in a range; an amount and a histogram may, and are passed as text.
  const summed = sums.map((name) =>
    name.endsWith("_minor") || name === "latency"
      ? `sum(${name})::text AS "${camel(name)}"`
      : `sum(${name})::float8 AS "${camel(name)}"`,
  );
  const selected = [...named(groups), ...summed];
  return {
    name: `select_${table}`,
    text: `
      WITH f AS (SELECT ${countedMinutes[0]} AS minutes),
      stretch AS (
        SELECT * FROM unnest($2::int[], $3::int[], $4::timestamptz[], $5::timestamptz[]) AS t(point, minutes, from_at, to_at)),
      counted AS (
        SELECT stretch.point, ${columns} FROM stretch CROSS JOIN LATERAL (
          SELECT * FROM ${table} c
          WHERE c.merchant_id = $1 AND c.minutes = stretch.minutes AND c.starts_at >= stretch.from_at AND c.starts_at < stretch.to_at
          ${fence}) r
        UNION ALL
        SELECT (SELECT count(*)::int - 1 FROM unnest($6::timestamptz[]) AS t(starts_at) WHERE t.starts_at <= r.starts_at), ${columns}
        FROM (${facts(since)}) r)
      SELECT ${selected} FROM counted
      WHERE $9::text IS NULL OR currency = $9
      GROUP BY ${groups}`,
  };
}

const selectPayments = selectCounts(countedPayments, ["point", "currency"]);
const selectAttempts = selectCounts(countedAttempts, ["point", "gateway"]);
const selectDeclines = selectCounts(countedDeclines, ["point", "gateway", "decline_code"]);
const selectAuthentications = selectCounts(countedAuthentications, ["point", "gateway"]);
const selectCards = selectCounts(countedCards, ["point", "fact", "value"]);
const selectRenewals = selectCounts(countedRenewals, ["point"]);
const selectWallets = selectCounts(countedWallets, ["wallet"]);
const ofArm = ["rule_version", "case_name", "arm"];
const selectArms = selectCounts(countedArms, ofArm);
const selectArmCosts = selectCounts(countedArmCosts, [...ofArm, "gateway", "currency"]);

// A year's counts are some megabytes, which are sorted in memory.
const settings: Statement = { name: "set_for_counts", text: "SELECT set_config('work_mem', '32MB', true)" };

async function load<Row extends object>(reads: Reads, statement: Statement, given: readonly unknown[]): Promise<Row[]> {
  const rows = await reads.transaction(async (tx) => {
    tx.send(settings, []);
    return tx.query<Row & { latency?: unknown }>(statement, given);
  });
  for (const row of rows) if (typeof row.latency === "string") row.latency = readHistogram(row.latency);
  return rows;
}

function valuesOf(merchantId: MerchantId, { startsAt, endsAt: to }: Times): unknown[] {
  const stretches = stretchesOf({ startsAt, endsAt: to });
  const times = (name: "from" | "to") => arrayOf(stretches.map((stretch) => stretch[name].toISOString()));
  const numbers = (name: "point" | "minutes") => arrayOf(stretches.map((stretch) => stretch[name]));
  const columns = [numbers("point"), numbers("minutes"), times("from"), times("to")];
  return [merchantId, ...columns, arrayOf(startsAt.map((at) => at.toISOString())), startsAt[0], to];
}

// Written once for all statements: the driver takes longer for a thousand times than PostgreSQL for counting them.
const arrayOf = (values: readonly (string | number)[]) => `{${values.join()}}`;

type MoneyAsText = { readonly volumeMinor: string; readonly savedMinor: string; readonly issuerMinor: string };

/**
 * Loads the counts of a range. If `currency` is given, all but the payments are only of payments in it; payments are in
 * every currency.
 */
export async function loadCounts(
  reads: Reads,
  asked: { merchantId: MerchantId; range: CutRange; currency: string | undefined },
): Promise<RangeCounts> {
  const { merchantId, range, currency } = asked;
  const values = valuesOf(merchantId, range);
  const [payments, attempts, declines, authentications, cards] = await Promise.all([
    loadPayments(reads, { merchantId, range }),
    load<AttemptCounts>(reads, selectAttempts, [...values, currency ?? null]),
    load<DeclineCounts>(reads, selectDeclines, [...values, currency ?? null]),
    load<AuthenticationCounts>(reads, selectAuthentications, [...values, currency ?? null]),
    load<CardCounts>(reads, selectCards, [...values, currency ?? null]),
  ]);
  return { payments, attempts, declines, authentications, cards };
}

type Times = Pick<CutRange, "startsAt" | "endsAt">;

/** The wanted counts: of payments in every currency, or in one. */
export type AskedCounts = {
  readonly merchantId: MerchantId;
  readonly range: Times;
  readonly currency?: string | undefined;
};

/** Loads the counts of a range's payments alone; where `currency` is given, only of payments in it. */
export async function loadPayments(reads: Reads, asked: AskedCounts): Promise<PaymentCounts[]> {
  const values = [...valuesOf(asked.merchantId, asked.range), asked.currency ?? null];
  const rows = await load<PaymentCounts & MoneyAsText>(reads, selectPayments, values);
  return rows.map((row) => ({
    ...row,
    volumeMinor: BigInt(row.volumeMinor),
    savedMinor: BigInt(row.savedMinor),
    issuerMinor: BigInt(row.issuerMinor),
  }));
}

/** Returns the range as a single point. */
function wholeOf({ startsAt, endsAt }: Times) {
  return { startsAt: startsAt.slice(0, 1), endsAt };
}

/** Loads the counts of a range's payments that their merchant made; where `currency` is given, only of those in it. */
export async function loadRenewals(reads: Reads, asked: AskedCounts): Promise<RenewalCounts[]> {
  const values = [...valuesOf(asked.merchantId, wholeOf(asked.range)), asked.currency ?? null];
  return load<RenewalCounts>(reads, selectRenewals, values);
}

/** Loads the counts of a range's payments by each wallet; where `currency` is given, only of those in it. */
export async function loadWalletCounts(reads: Reads, asked: AskedCounts): Promise<WalletCounts[]> {
  const values = [...valuesOf(asked.merchantId, wholeOf(asked.range)), asked.currency ?? null];
  return load<WalletCounts>(reads, selectWallets, values);
}

/** Loads the counts of split plans in a range; where `currency` is given, only of payments in it. */
export async function loadArms(
  reads: Reads,
  asked: AskedCounts,
): Promise<{ readonly arms: readonly ArmCounts[]; readonly costs: readonly ArmCosts[] }> {
  const values = [...valuesOf(asked.merchantId, wholeOf(asked.range)), asked.currency ?? null];
  const [arms, costs] = await Promise.all([
    load<ArmCounts>(reads, selectArms, values),
    load<ArmCosts & { readonly capturedMinor: string }>(reads, selectArmCosts, values),
  ]);
  return { arms, costs: costs.map((row) => ({ ...row, capturedMinor: BigInt(row.capturedMinor) })) };
}
