/** Sums the gateways' fees for the payments of a split's variants, from their statements. */
import type { Arm } from "../../core/rows/entities.ts";
import type { Reads, Statement } from "../../platform/database.ts";
import { firstDelayMs } from "../../settlement/why-unsettled.ts";
import type { SplitComparison } from "./compare-arms.ts";
import { type AskedCounts, loadArms } from "./load-counts.ts";

// With fewer payments in statements, the missing ones could decide which variant is cheaper.
const coverageMin = 0.95;

type ArmFee = {
  /** The currency of the payouts. */
  readonly currency: string;
  readonly payments: number;
  readonly grossMinor: number;
  /** The fees of these payments and of their refunds. */
  readonly feeMinor: number;
};

export type ArmFees = {
  /** The share of the captured payments that a statement has; undefined without any. */
  readonly coverage: number | undefined;
  /** Empty while the coverage is too low to compare. */
  readonly fees: readonly ArmFee[];
};

/** The months, such as `2026-11`, whose payments count, and the fees of each comparison. */
export type SplitFees = {
  readonly months: readonly string[];
  readonly of: ReadonlyMap<SplitComparison, Record<Arm, ArmFees>>;
};

const selectDelay: Statement = {
  name: "select_longest_usual_delay",
  text: `
    SELECT max(coalesce(f.usual_delay_ms, ${firstDelayMs}))::float8 AS "delayMs"
    FROM gateway_feed f JOIN connection c ON c.id = f.connection_id WHERE c.merchant_id = $1 AND f.kind = 'settlement' AND f.read_at IS NOT NULL`,
};

type Row = ArmFee & { readonly ruleVersion: number; readonly caseName: string; readonly arm: Arm };

const selectFees: Statement = {
  name: "select_fees_of_arms",
  text: `
    SELECT rule_version AS "ruleVersion", case_name AS "caseName", arm, settlement_currency AS currency,
      coalesce(sum(lines) FILTER (WHERE type = 'CAPTURED'), 0)::int AS payments,
      coalesce(sum(settled_gross_minor) FILTER (WHERE type = 'CAPTURED'), 0)::float8 AS "grossMinor", sum(fee_minor)::float8 AS "feeMinor"
    FROM analytics_cost
    WHERE merchant_id = $1 AND month >= $2::date AND month < $3::date AND ($4::text IS NULL OR currency = $4) AND arm <> ''
      AND type IN ('CAPTURED','REFUNDED','REFUND_FAILED')
    GROUP BY 1, 2, 3, 4 ORDER BY 4`,
};

/**
 * Loads the fees of comparisons: of the months in the range that are over for longer than statements usually take. Nothing is read
 * without a comparison, and without an account whose statements are read.
 */
export async function loadFees(
  reads: Reads,
  { merchantId, range, currency }: AskedCounts,
  { comparisons, now }: { readonly comparisons: readonly SplitComparison[]; readonly now: Date },
): Promise<SplitFees> {
  const none = { months: [], of: new Map() };
  if (comparisons.length === 0) return none;
  const [delay] = await reads.query<{ delayMs: number | null }>(selectDelay, [merchantId]);
  if (delay?.delayMs == null) return none;
  const begins = monthsWithin(range.startsAt[0]!, range.endsAt).filter(
    (month) => monthAfter(month).getTime() + delay.delayMs! <= now.getTime(),
  );
  const [first, last] = [begins[0], begins.at(-1)];
  if (first === undefined || last === undefined) return none;
  const endsAt = monthAfter(last);
  const [counted, rows] = await Promise.all([
    loadArms(reads, { merchantId, range: { startsAt: [first], endsAt }, currency }),
    reads.query<Row>(selectFees, [merchantId, first, endsAt, currency ?? null]),
  ]);
  const feesOf = ({ case: name = "", rules }: SplitComparison, arm: Arm): ArmFees => {
    const isOfArm = (row: { readonly ruleVersion: number; readonly caseName: string; readonly arm: Arm }) =>
      row.arm === arm && row.caseName === name && rules.some(({ version }) => version === row.ruleVersion);
    const captured = counted.costs.filter(isOfArm).reduce((sum, row) => sum + row.captured, 0);
    return coveredFees(captured, rows.filter(isOfArm));
  };
  const of = new Map(comparisons.map((one) => [one, { A: feesOf(one, "A"), B: feesOf(one, "B") }]));
  return { months: begins.map((begin) => begin.toISOString().slice(0, 7)), of };
}

/** Returns the fees by currency, if statements have enough of the captured payments. */
function coveredFees(captured: number, rows: readonly ArmFee[]): ArmFees {
  const payments = rows.reduce((sum, row) => sum + row.payments, 0);
  const coverage = captured === 0 ? undefined : Math.min(1, payments / captured);
  if (coverage === undefined || coverage < coverageMin) return { coverage, fees: [] };
  const fees = [...Map.groupBy(rows, ({ currency }) => currency)].map(([currency, of]) => {
    const sum = (name: "payments" | "grossMinor" | "feeMinor") => of.reduce((all, row) => all + row[name], 0);
    return { currency, payments: sum("payments"), grossMinor: sum("grossMinor"), feeMinor: sum("feeMinor") };
  });
  return { coverage, fees };
}

/** Returns the first moment of each month that the range touches, in UTC. */
function monthsWithin(from: Date, before: Date): Date[] {
  const months: Date[] = [];
  for (let month = monthOf(from); month < before; month = monthAfter(month)) months.push(month);
  return months;
}
const monthOf = (at: Date) => new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth()));
const monthAfter = (at: Date) => new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1));
