import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ArmCountsSchema, SplitComparisonSchema } from "../../gen/dashboard/v1/analytics_pb.ts";
import { isoExponent } from "../platform/money.ts";
import type { ArmFees, SplitFees } from "../reporting/analytics/arm-fees.ts";
import {
  approvedOf,
  type ComparedArm,
  describeDifference,
  differenceOf,
  mayBeChance,
  paymentsNeeded,
  rateOf,
  type SplitComparison,
} from "../reporting/analytics/compare-arms.ts";
import { mergeHistograms, percentileMs } from "../reporting/analytics/latency-histogram.ts";

/** Returns a comparison as a message, with what gateways kept. `nameOf` returns the display name of a connection. */
export function comparisonMessage(
  comparison: SplitComparison,
  { nameOf, fees }: { readonly nameOf: (connectionId: string) => string; readonly fees: SplitFees },
): MessageInitShape<typeof SplitComparisonSchema> {
  const { arms, percent, rules } = comparison;
  const kept = fees.of.get(comparison);
  const approved = [approvedOf(arms.A), approvedOf(arms.B)] as const;
  const difference = differenceOf(...approved);
  return {
    ...(comparison.case !== undefined && { case: comparison.case }),
    percent,
    ruleVersions: rules.map(({ version }) => version),
    a: armMessage(arms.A, nameOf, kept?.A),
    b: armMessage(arms.B, nameOf, kept?.B),
    feeMonths: [...fees.months],
    ...(difference && { difference }),
    isSignificant: difference !== undefined && !mayBeChance(difference),
    verdict: describeDifference(...approved),
    paymentsNeeded: paymentsNeeded({
      percent,
      ended: { count: approved[0].count + approved[1].count, of: approved[0].of + approved[1].of },
    }),
  };
}

function armMessage(
  arm: ComparedArm,
  nameOf: (connectionId: string) => string,
  { coverage, fees }: ArmFees = { coverage: undefined, fees: [] },
): MessageInitShape<typeof ArmCountsSchema> {
  const { connectionIds, counts, costs } = arm;
  const sum = (name: "succeeded" | "released" | "declined" | "degraded" | "saved") =>
    BigInt(counts.reduce((all, row) => all + row[name], 0));
  const approval = rateOf(approvedOf(arm));
  const latency = mergeHistograms(counts.map((row) => row.latency));
  const [p50Ms, p95Ms] = [percentileMs(latency, 0.5), percentileMs(latency, 0.95)];
  const byPlace = Map.groupBy(costs, ({ gateway, currency }) => `${gateway} ${currency}`);
  return {
    plan: connectionIds.map(nameOf),
    succeeded: sum("succeeded"),
    released: sum("released"),
    declined: sum("declined"),
    degraded: sum("degraded"),
    savedByFailover: sum("saved"),
    ...(approval && { approval }),
    ...(p50Ms !== undefined && { p50Ms }),
    ...(p95Ms !== undefined && { p95Ms }),
    ...(coverage !== undefined && { feeCoverage: coverage }),
    fees: fees.map(({ currency, payments, grossMinor, feeMinor }) => ({
      currency,
      decimals: isoExponent(currency),
      payments: BigInt(payments),
      ...(grossMinor > 0 && { rate: feeMinor / grossMinor }),
      ...(payments > 0 && { perPaymentMinor: feeMinor / payments }),
    })),
    costs: [...byPlace.keys()].toSorted().map((place) => {
      const rows = byPlace.get(place)!;
      const { gateway, currency } = rows[0]!;
      const total = (name: "attempts" | "captured" | "voided") => BigInt(rows.reduce((all, row) => all + row[name], 0));
      return {
        gateway,
        currency,
        decimals: isoExponent(currency),
        attempts: total("attempts"),
        captured: total("captured"),
        voided: total("voided"),
        capturedMinor: rows.reduce((all, row) => all + row.capturedMinor, 0n),
      };
    }),
  };
}
