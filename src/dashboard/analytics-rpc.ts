/** Analytics: proto ↔ core. The schema defines each count. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type AnalyticsService,
  type AttemptCountsSchema,
  GetAnalyticsResponseSchema,
  type PaymentCountsSchema,
  PointLength,
} from "../../gen/dashboard/v1/analytics_pb.ts";
import { isoExponent } from "../platform/money.ts";
import { cutRange, type PointLength as Length } from "../reporting/analytics/analytics-range.ts";
import { latencyErrorMax, mergeHistograms, percentileMs } from "../reporting/analytics/latency-histogram.ts";
import { type AttemptCounts, loadCounts, type PaymentCounts } from "../reporting/analytics/load-counts.ts";
import { scopedContextOf } from "./rpc-context.ts";

const lengths: Readonly<Partial<Record<PointLength, Length>>> = {
  [PointLength.HOUR]: "hour",
  [PointLength.DAY]: "day",
  [PointLength.WEEK]: "week",
};
const lengthMessages = { hour: PointLength.HOUR, day: PointLength.DAY, week: PointLength.WEEK } as const;

/** The rpc that counts payments and attempts by outcome. */
export function createAnalyticsService(): ServiceImpl<typeof AnalyticsService> {
  return {
    async getAnalytics({ firstDay, lastDay, timeZone, pointLength, gateway, currency }, context) {
      const { merchantId, environment } = scopedContextOf(context);
      const { reads } = environment;
      const range = await cutRange(reads, { firstDay, lastDay, timeZone, pointLength: lengths[pointLength] });
      const counts = await loadCounts(reads, { merchantId, range, currency: currency || undefined });
      const isAsked = (row: { readonly gateway: string }) => gateway === "" || row.gateway === gateway;
      const payments = counts.payments.filter((row) => currency === "" || row.currency === currency);
      const attempts = counts.attempts.filter(isAsked);
      const ofPoint = <Row extends { readonly point: number }>(rows: readonly Row[]) => {
        const byPoint = Map.groupBy(rows, ({ point }) => point);
        return (point: number) => byPoint.get(point) ?? [];
      };
      const [paymentsIn, attemptsIn] = [ofPoint(payments), ofPoint(attempts)];
      return create(GetAnalyticsResponseSchema, {
        from: timestampFromDate(range.startsAt[0]!),
        to: timestampFromDate(range.endsAt),
        pointLength: lengthMessages[range.pointLength],
        total: pointMessage(range.startsAt[0]!, payments, attempts),
        points: range.startsAt.map((at, point) => pointMessage(at, paymentsIn(point), attemptsIn(point))),
        declines: counts.declines
          .filter(isAsked)
          .toSorted((left, right) => right.attempts - left.attempts || (left.declineCode < right.declineCode ? -1 : 1))
          .map((row) => ({ ...row, attempts: BigInt(row.attempts) })),
        gateways: namesOf(counts.attempts.map((row) => row.gateway)),
        currencies: namesOf(counts.payments.map((row) => row.currency)),
        latencyErrorMost: latencyErrorMax,
      });
    },
  };
}

const namesOf = (names: readonly string[]) => [...new Set(names)].sort();

function pointMessage(at: Date, payments: readonly PaymentCounts[], attempts: readonly AttemptCounts[]) {
  const byGateway = Map.groupBy(attempts, ({ gateway }) => gateway);
  return {
    startsAt: timestampFromDate(at),
    payments: paymentMessage(payments),
    attempts: attemptMessage("", attempts),
    gateways: namesOf([...byGateway.keys()]).map((gateway) => attemptMessage(gateway, byGateway.get(gateway)!)),
  };
}

function paymentMessage(rows: readonly PaymentCounts[]): MessageInitShape<typeof PaymentCountsSchema> {
  const sum = sumOf(rows);
  const [succeeded, declined, degraded] = [sum("succeeded"), sum("declined"), sum("degraded")];
  const byCurrency = Map.groupBy(rows, ({ currency }) => currency);
  const money = (of: readonly PaymentCounts[], name: "volumeMinor" | "savedMinor") =>
    of.reduce((total, row) => total + row[name], 0n);
  return {
    succeeded: BigInt(succeeded),
    declined: BigInt(declined),
    degraded: BigInt(degraded),
    expired: BigInt(sum("expired")),
    savedByFailover: BigInt(sum("saved")),
    ...rate("approvalRate", succeeded, succeeded + declined + degraded),
    ...percentiles(rows),
    volumes: namesOf([...byCurrency.keys()]).map((currency) => {
      const of = byCurrency.get(currency)!;
      return {
        currency,
        decimals: isoExponent(currency),
        capturedMinor: money(of, "volumeMinor"),
        savedMinor: money(of, "savedMinor"),
        succeeded: BigInt(sumOf(of)("succeeded")),
      };
    }),
  };
}

function attemptMessage(gateway: string, rows: readonly AttemptCounts[]): MessageInitShape<typeof AttemptCountsSchema> {
  const sum = sumOf(rows);
  const approved = sum("approved");
  const failed = sum("timeouts") + sum("gatewayErrors");
  const attempts = approved + sum("hardDeclined") + sum("softDeclined") + sum("fraudDeclined") + failed;
  return {
    gateway,
    attempts: BigInt(attempts),
    approved: BigInt(approved),
    hardDeclined: BigInt(sum("hardDeclined")),
    softDeclined: BigInt(sum("softDeclined")),
    fraudDeclined: BigInt(sum("fraudDeclined")),
    timeouts: BigInt(sum("timeouts")),
    gatewayErrors: BigInt(sum("gatewayErrors")),
    unknown: BigInt(sum("unknown")),
    ...rate("approvalRate", approved, attempts),
    ...rate("technicalFailureRate", failed, attempts),
    ...percentiles(rows),
  };
}

/** Sums one column. */
function sumOf<Row extends object>(rows: readonly Row[]) {
  return (name: { [Name in keyof Row]: Row[Name] extends number ? Name : never }[keyof Row]): number =>
    rows.reduce((total, row) => total + (row[name] as number), 0);
}

function rate<Name extends string>(name: Name, part: number, whole: number) {
  return (whole === 0 ? {} : { [name]: part / whole }) as Partial<Record<Name, number>>;
}

function percentiles(rows: readonly { readonly latency: readonly number[] }[]) {
  const histogram = mergeHistograms(rows.map(({ latency }) => latency));
  const [p50Ms, p95Ms] = [percentileMs(histogram, 0.5), percentileMs(histogram, 0.95)];
  return { ...(p50Ms !== undefined && { p50Ms }), ...(p95Ms !== undefined && { p95Ms }) };
}
