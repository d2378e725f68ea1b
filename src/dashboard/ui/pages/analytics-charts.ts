/** The data of the analytics charts: the same numbers that their tables have. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import {
  type AnalyticsPoint,
  type GetAnalyticsResponse,
  PointLength,
} from "../../../../gen/dashboard/v1/analytics_pb.ts";
import { nameOfBrand } from "../parts/card-brand.ts";
import { nameOfGateway } from "../parts/gateway-name.ts";
import { type ChartLine as Line, meaningLooks } from "../parts/line-look.ts";
import { decimalOf } from "../parts/minor-units.ts";
import { formatCount, formatMinor, formatMs, formatRate } from "../parts/numbers.ts";

/** A chart and its table. */
export type ChartData = {
  readonly id: string;
  readonly title: string;
  readonly caption: string;
  readonly lines: readonly Line[];
  /** Formats a value for people. */
  readonly format: (value: number | undefined) => string;
  /** Formats a value for an axis, where there is little room. */
  readonly formatAxis: (value: number) => string;
  /** True if values are whole numbers only. */
  readonly isWhole?: boolean;
  /** The largest possible value, if there is one. */
  readonly max?: number;
};

/**
 * Returns the points' names in charts and tables, in the range's own zone. A point says so if it has only a part of its
 * week, or its time is not over.
 */
export function pointNames(
  { points, pointLength, to }: GetAnalyticsResponse,
  { timeZone, isLastPartial }: { timeZone: string; isLastPartial: boolean },
): string[] {
  const day = { day: "numeric", month: "short", timeZone } as const;
  const hour = { ...day, hour: "2-digit", minute: "2-digit", timeZoneName: "short" } as const;
  const format = new Intl.DateTimeFormat(
    undefined,
    pointLength === PointLength.HOUR ? hour : { ...day, year: "numeric" },
  );
  const startOf = (index: number) => timestampDate((points[index]?.startsAt ?? to)!).getTime();
  const names = points.map(({ startsAt }, index) => {
    const name = format.format(timestampDate(startsAt!));
    if (pointLength !== PointLength.WEEK) return name;
    // A change of clocks is far less than a day.
    const days = Math.round((startOf(index + 1) - startOf(index)) / (24 * hourMs));
    return days < 7 ? `Week from ${name}, ${days} of its days` : `Week from ${name}`;
  });
  return isLastPartial ? names.with(-1, `${names.at(-1)}, so far`) : names;
}

/** Returns the answer without the points that begin after `now`, such as the hours of today that are still to come. */
export function untilNow(answer: GetAnalyticsResponse, now: Date): GetAnalyticsResponse {
  return { ...answer, points: answer.points.filter(({ startsAt }) => timestampDate(startsAt!) <= now) };
}

/** Tells whether the last point is not over at `now`: an hour, day or week that is still running. */
export function isLastRunning({ points, to }: GetAnalyticsResponse, now: Date): boolean {
  return points.length > 0 && to !== undefined && now < timestampDate(to);
}

const hourMs = 3_600_000;

/** Returns shorter names for an axis: with hours, only a day's first one shows the day. */
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

/** Returns every chart of the page, in its order. */
export function chartsOf(answer: GetAnalyticsResponse): ChartData[] {
  return [
    ...countCharts(answer),
    ...rateCharts(answer),
    ...moneyCharts(answer),
    ...latencyCharts(answer),
    ...authenticationCharts(answer),
    ...cardCharts(answer),
    ...declineCharts(answer),
  ];
}

function countCharts({ points, total }: GetAnalyticsResponse): ChartData[] {
  const payment = (
    name: string,
    look: keyof typeof meaningLooks,
    of: (point: NonNullable<AnalyticsPoint["payments"]>) => bigint,
  ): Line => ({
    ...{ name, look: meaningLooks[look] },
    values: points.map(({ payments }) => number(payments && of(payments))),
  });
  return [
    {
      id: "payments",
      title: "Payments by outcome",
      caption: "Ended payments by outcome. Each counts once, however many attempts it took.",
      lines: [
        payment("Succeeded", "succeeded", ({ succeeded }) => succeeded),
        payment("Declined", "declined", ({ declined }) => declined),
        payment("Failed", "failed", ({ degraded }) => degraded),
        // Only merchants that capture later have any.
        ...(total?.payments?.released ? [payment("Released", "released", ({ released }) => released)] : []),
      ],
      format: orDash(formatCount),
      formatAxis: (value) => compact.format(value),
      isWhole: true,
    },
    {
      id: "saved",
      title: "Saved by failover",
      caption: "Payments that failed at the first gateway and succeeded at another.",
      lines: [payment("Saved", "saved", ({ savedByFailover }) => savedByFailover)],
      format: orDash(formatCount),
      formatAxis: (value) => compact.format(value),
      isWhole: true,
    },
  ];
}

function rateCharts({ points, total }: GetAnalyticsResponse): ChartData[] {
  const gateways = (total?.gateways ?? []).map(({ gateway }) => gateway);
  const ofGateway = (gateway: string, name: "approvalRate" | "technicalFailureRate"): Line => ({
    ...{ name: nameOfGateway(gateway), look: meaningLooks.gateways + gateways.indexOf(gateway) },
    values: points.map((point) => point.gateways.find((each) => each.gateway === gateway)?.[name]),
  });
  return [
    {
      id: "approval",
      title: "Approval rate",
      caption: "Approved payments, of all that ended, and approved attempts, of all at each gateway.",
      lines: [
        {
          name: "Payments",
          look: meaningLooks.succeeded,
          values: points.map(({ payments }) => payments?.approvalRate),
        },
        ...gateways.map((gateway) => ofGateway(gateway, "approvalRate")),
      ],
      format: formatRate,
      formatAxis: (value) => wholePercent.format(value),
      max: 1,
    },
    {
      id: "failures",
      title: "Technical failures",
      caption: "Attempts that ended in a timeout or a gateway's error, of all attempts at the gateway.",
      lines: gateways.map((gateway) => ofGateway(gateway, "technicalFailureRate")),
      format: formatRate,
      formatAxis: (value) => wholePercent.format(value),
      max: 1,
    },
  ];
}

/** Returns a chart for each currency, because two currencies share no axis. */
function moneyCharts({ points, total }: GetAnalyticsResponse): ChartData[] {
  return (total?.payments?.volumes ?? []).map(({ currency, decimals }) => {
    const line = (name: string, look: number, column: "capturedMinor" | "savedMinor"): Line => ({
      ...{ name, look },
      values: points.map(({ payments }) =>
        Number(
          decimalOf({
            amountMinor: payments?.volumes.find((each) => each.currency === currency)?.[column] ?? 0n,
            exponent: decimals,
          }),
        ),
      ),
    });
    return {
      id: `volume-${currency}`,
      title: `Captured in ${currency}`,
      caption: "Money of payments that succeeded, and the part of it that failover saved.",
      lines: [
        line("Captured", meaningLooks.succeeded, "capturedMinor"),
        line("Saved by failover", meaningLooks.saved, "savedMinor"),
      ],
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
      title: "Latency",
      caption: `Median and 95th percentile: attempts until the gateway's answer, payments from submission to outcome without the customer's time at the bank. Accurate to ± ${Math.round(latencyErrorMost * 100)} %.`,
      lines: [
        line("Attempts, median", "attempts", "p50Ms"),
        line("Attempts, 95th percentile", "attempts", "p95Ms"),
        line("Payments, median", "payments", "p50Ms"),
        line("Payments, 95th percentile", "payments", "p95Ms"),
      ],
      format: formatMs,
      formatAxis: formatMs,
    },
  ];
}

const ends = [
  ["Passed", "passed"],
  ["Exempted", "exempted"],
  ["Failed", "failed"],
  ["Cancelled", "cancelled"],
  ["Abandoned", "abandoned"],
  ["No answer", "unavailable"],
] as const;

/** Returns no chart where there was no authentication. */
function authenticationCharts({ points, total }: GetAnalyticsResponse): ChartData[] {
  const all = total?.authentications;
  if (all === undefined || all.authentications === 0n) return [];
  return [
    {
      id: "authentications",
      title: "Authentications by end",
      caption: "Runs of 3-D Secure at gateways and providers, by their end. Ends that did not occur have no line.",
      lines: ends
        .filter(([, end]) => all[end] > 0n)
        .map(([name, end]) => ({ name, values: points.map((point) => number(point.authentications?.[end])) })),
      format: orDash(formatCount),
      formatAxis: (value) => compact.format(value),
      isWhole: true,
    },
    {
      id: "challenges",
      title: "Challenge and frictionless rate",
      caption: "Payments whose customer was asked, and authentications in which the bank did not ask.",
      lines: [
        { name: "Payments with a challenge", values: points.map(({ payments }) => payments?.challengeRate) },
        {
          name: "Frictionless authentications",
          values: points.map(({ authentications }) => authentications?.frictionlessRate),
        },
      ],
      format: formatRate,
      formatAxis: (value) => wholePercent.format(value),
      max: 1,
    },
  ];
}

const countryNames = new Intl.DisplayNames(undefined, { type: "region" });

/** Returns the name of a card's brand, and of a country; both may be unknown. */
export const cardNames = {
  cardBrands: (brand: string) => (brand === "" ? "Unknown" : nameOfBrand(brand)),
  issuingCountries: (country: string) => (country === "" ? "Unknown" : (countryNames.of(country) ?? country)),
} as const;

// As many lines as the service returns for each point.
const linesMax = 6;

/** Returns no chart where nothing is known of any card. */
function cardCharts({ points, total }: GetAnalyticsResponse): ChartData[] {
  const chart = (by: keyof typeof cardNames, title: string, source: string): ChartData[] => {
    const values = (total?.[by] ?? []).slice(0, linesMax).map(({ value }) => value);
    if (values.every((value) => value === "")) return [];
    return [
      {
        id: by,
        title,
        caption: `Approved payments, of all that ended. Only the six with the most payments have a line.${source}`,
        lines: values.map((value) => ({
          name: cardNames[by](value),
          values: points.map((point) => point[by].find((each) => each.value === value)?.approvalRate),
        })),
        format: formatRate,
        formatAxis: (value) => wholePercent.format(value),
        max: 1,
      },
    ];
  };
  return [
    ...chart("cardBrands", "Approval rate by card brand", ""),
    ...chart(
      "issuingCountries",
      "Approval rate by issuing country",
      " By the card ranges of your routing cases, and of published test numbers (United States).",
    ),
  ];
}

/** Returns no chart where no attempt was declined. */
function declineCharts({ points, total }: GetAnalyticsResponse): ChartData[] {
  const codes = (total?.declineCodes ?? []).slice(0, linesMax).map(({ declineCode }) => declineCode);
  if (codes.length === 0) return [];
  return [
    {
      id: "decline-codes",
      title: "Declined attempts by code",
      caption: "Attempts that a gateway declined. Only the six most frequent codes have a line.",
      lines: codes.map((code) => ({
        name: code,
        values: points.map((point) => number(point.declineCodes.find((each) => each.declineCode === code)?.attempts)),
      })),
      format: orDash(formatCount),
      formatAxis: (value) => compact.format(value),
      isWhole: true,
    },
  ];
}
