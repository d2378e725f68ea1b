/** What the charts of the analytics show: the same numbers that their tables have. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import {
  type AnalyticsPoint,
  type GetAnalyticsResponse,
  PointLength,
} from "../../../../gen/dashboard/v1/analytics_pb.ts";
import { decimalOf, formatCount, formatMinor, formatMs, formatRate } from "../parts/numbers.ts";

/** A line of a chart, with a value or none for each point. */
export type Line = { readonly name: string; readonly values: readonly (number | undefined)[] };

/** A chart and its table. */
export type ChartData = {
  readonly id: string;
  readonly title: string;
  readonly caption: string;
  readonly lines: readonly Line[];
  /** A value as a person reads it. */
  readonly format: (value: number | undefined) => string;
  /** The same beside an axis, where there is little room. */
  readonly formatAxis: (value: number) => string;
  /** Whether there is nothing between one and two. */
  readonly isWhole?: boolean;
  /** The largest value that there can be, where there is one. */
  readonly most?: number;
};

/** Points as they are named in charts and tables, in the range's own zone. */
export function pointNames({ points, pointLength }: GetAnalyticsResponse, timeZone: string): string[] {
  const day = { day: "numeric", month: "short", timeZone } as const;
  const hour = { ...day, hour: "2-digit", minute: "2-digit", timeZoneName: "short" } as const;
  const format = new Intl.DateTimeFormat(
    undefined,
    pointLength === PointLength.HOUR ? hour : { ...day, year: "numeric" },
  );
  const begin = pointLength === PointLength.WEEK ? "Week from " : "";
  return points.map(({ startsAt }) => begin + format.format(timestampDate(startsAt!)));
}

/** The same names beside an axis: of hours, the day stands at its first one alone. */
export function shortNames({ points, pointLength }: GetAnalyticsResponse, timeZone: string): string[] {
  const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", timeZone });
  const hour = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", timeZone });
  const days = points.map(({ startsAt }) => day.format(timestampDate(startsAt!)));
  if (pointLength !== PointLength.HOUR || days.at(-1) !== days[0]) return days;
  return points.map(({ startsAt }) => hour.format(timestampDate(startsAt!)));
}

const wholePercent = new Intl.NumberFormat(undefined, { style: "percent" });
const compact = new Intl.NumberFormat(undefined, { notation: "compact" });

const number = (value: bigint | undefined) => Number(value ?? 0n);
const orDash = (format: (value: number) => string) => (value: number | undefined) =>
  value === undefined ? "–" : format(value);

/** Every chart of the page, in its order. */
export function chartsOf(answer: GetAnalyticsResponse): ChartData[] {
  return [...countCharts(answer), ...rateCharts(answer), ...moneyCharts(answer), ...latencyCharts(answer)];
}

function countCharts({ points }: GetAnalyticsResponse): ChartData[] {
  const payment = (name: string, of: (point: NonNullable<AnalyticsPoint["payments"]>) => bigint): Line => ({
    name,
    values: points.map(({ payments }) => number(payments && of(payments))),
  });
  return [
    {
      id: "payments",
      title: "Payments by outcome",
      caption: "How many payments ended, and how. Each counts once, however many gateways it asked.",
      lines: [
        payment("Succeeded", ({ succeeded }) => succeeded),
        payment("Declined", ({ declined }) => declined),
        payment("Without an answer", ({ degraded }) => degraded),
      ],
      format: orDash(formatCount),
      formatAxis: (value) => compact.format(value),
      isWhole: true,
    },
    {
      id: "saved",
      title: "Saved by failover",
      caption: "Payments that the first gateway did not take, and another one did.",
      lines: [payment("Saved", ({ savedByFailover }) => savedByFailover)],
      format: orDash(formatCount),
      formatAxis: (value) => compact.format(value),
      isWhole: true,
    },
  ];
}

function rateCharts({ points, total }: GetAnalyticsResponse): ChartData[] {
  const gateways = (total?.gateways ?? []).map(({ gateway }) => gateway);
  const ofGateway = (gateway: string, name: "approvalRate" | "technicalFailureRate"): Line => ({
    name: gateway,
    values: points.map((point) => point.gateways.find((each) => each.gateway === gateway)?.[name]),
  });
  return [
    {
      id: "approval",
      title: "Approval rate",
      caption: "Payments that succeeded, and attempts that each gateway approved.",
      lines: [
        { name: "Payments", values: points.map(({ payments }) => payments?.approvalRate) },
        ...gateways.map((gateway) => ofGateway(gateway, "approvalRate")),
      ],
      format: formatRate,
      formatAxis: (value) => wholePercent.format(value),
      most: 1,
    },
    {
      id: "failures",
      title: "Technical failures",
      caption: "Attempts that ended in a timeout or a gateway's error, of all attempts at the gateway.",
      lines: gateways.map((gateway) => ofGateway(gateway, "technicalFailureRate")),
      format: formatRate,
      formatAxis: (value) => wholePercent.format(value),
      most: 1,
    },
  ];
}

/** A chart for each currency: amounts of two currencies stand on no common axis. */
function moneyCharts({ points, total }: GetAnalyticsResponse): ChartData[] {
  return (total?.payments?.volumes ?? []).map(({ currency, decimals }) => {
    const line = (name: string, column: "capturedMinor" | "savedMinor"): Line => ({
      name,
      values: points.map(({ payments }) =>
        Number(decimalOf(payments?.volumes.find((each) => each.currency === currency)?.[column] ?? 0n, decimals)),
      ),
    });
    return {
      id: `volume-${currency}`,
      title: `Captured in ${currency}`,
      caption: "Money of payments that succeeded, and the part of it that failover saved.",
      lines: [line("Captured", "capturedMinor"), line("Saved by failover", "savedMinor")],
      format: orDash((value) => formatMinor(BigInt(Math.round(value * 10 ** decimals)), { currency, decimals })),
      formatAxis: (value) =>
        new Intl.NumberFormat(undefined, { style: "currency", currency, notation: "compact" }).format(value),
    };
  });
}

function latencyCharts({ points, latencyErrorMost }: GetAnalyticsResponse): ChartData[] {
  const line = (name: string, of: "payments" | "attempts", share: "p50Ms" | "p95Ms"): Line => ({
    name,
    values: points.map((point) => point[of]?.[share]),
  });
  return [
    {
      id: "latency",
      title: "How long it takes",
      caption: `What half and 95 in 100 stay within: attempts until the gateway's answer, payments from submission to outcome. Exact to ${Math.round(latencyErrorMost * 100)} %.`,
      lines: [
        line("Attempts, half", "attempts", "p50Ms"),
        line("Attempts, 95 in 100", "attempts", "p95Ms"),
        line("Payments, half", "payments", "p50Ms"),
        line("Payments, 95 in 100", "payments", "p95Ms"),
      ],
      format: formatMs,
      formatAxis: formatMs,
    },
  ];
}
