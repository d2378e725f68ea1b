/** The data of the charts: the same numbers that their tables have. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import {
  type AnalyticsPoint,
  type GetAnalyticsResponse,
  PointLength,
} from "../../../../gen/dashboard/v1/analytics_pb.ts";
import { nameOfBrand } from "../parts/card-brand.ts";
import type { ChartData } from "../parts/chart-card.tsx";
import { nameOfGateway } from "../parts/gateway-name.ts";
import { type ChartLine as Line, meaningLooks } from "../parts/line-look.ts";
import { decimalOf } from "../parts/minor-units.ts";
import { formatCount, formatMinor, formatMs, formatRate, formatWholePercent } from "../parts/numbers.ts";

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

const compact = new Intl.NumberFormat(undefined, { notation: "compact" });

const rates = { format: formatRate, formatAxis: formatWholePercent, isRate: true } as const;
const number = (value: bigint | undefined) => Number(value ?? 0n);
const orDash = (format: (value: number) => string) => (value: number | undefined) =>
  value === undefined ? "–" : format(value);

export function chartsOf(answer: GetAnalyticsResponse): ChartData[] {
  return [
    ...rateCharts(answer),
    ...latencyCharts(answer),
    ...authenticationCharts(answer),
    ...cardCharts(answer),
    ...declineCharts(answer),
  ];
}

function outcomeChart({ points, total }: GetAnalyticsResponse): ChartData {
  const payment = (
    name: string,
    look: keyof typeof meaningLooks,
    of: (point: NonNullable<AnalyticsPoint["payments"]>) => bigint,
  ): Line => ({
    name,
    look: meaningLooks[look],
    values: points.map(({ payments }) => number(payments && of(payments))),
  });
  return {
    id: "payments",
    title: "Payments by outcome",
    caption: "Each ended payment, once.",
    lines: [
      payment("Succeeded", "succeeded", ({ succeeded }) => succeeded),
      payment("Declined", "declined", ({ declined }) => declined),
      payment("Failed", "failed", ({ degraded }) => degraded),
      payment("Saved by failover", "saved", ({ savedByFailover }) => savedByFailover),
      // Only merchants that capture later have released payments.
      ...(total?.payments?.released ? [payment("Released", "released", ({ released }) => released)] : []),
    ],
    format: orDash(formatCount),
    formatAxis: (value) => compact.format(value),
    isWhole: true,
  };
}

function rateCharts(answer: GetAnalyticsResponse): ChartData[] {
  const { points, total } = answer;
  const gateways = (total?.gateways ?? []).map(({ gateway }) => gateway);
  const ofGateway = (gateway: string, name: "approvalRate" | "technicalFailureRate"): Line => ({
    name: nameOfGateway(gateway),
    look: meaningLooks.gateways + gateways.indexOf(gateway),
    values: points.map((point) => point.gateways.find((each) => each.gateway === gateway)?.[name]),
  });
  return [
    {
      id: "approval",
      title: "Approval rate",
      caption:
        "Of payments, and of attempts at each gateway. The axis shows 50 points at most and does not begin at zero.",
      lines: [
        {
          name: "Payments",
          look: meaningLooks.succeeded,
          values: points.map(({ payments }) => payments?.approvalRate),
        },
        ...gateways.map((gateway) => ofGateway(gateway, "approvalRate")),
      ],
      ...rates,
      isClose: true,
    },
    outcomeChart(answer),
    {
      id: "failures",
      title: "Technical failures",
      caption: "A share of attempts.",
      lines: gateways.map((gateway) => ofGateway(gateway, "technicalFailureRate")),
      ...rates,
    },
  ];
}

/** Returns the chart of the money captured in one currency: two share no axis. */
export function capturedChart(
  { points }: GetAnalyticsResponse,
  { currency, decimals }: { readonly currency: string; readonly decimals: number },
): ChartData {
  const line = (name: string, look: number, column: "capturedMinor" | "savedMinor"): Line => ({
    name,
    look,
    values: points.map(({ payments }) => {
      const amountMinor = payments?.volumes.find((each) => each.currency === currency)?.[column] ?? 0n;
      return Number(decimalOf({ amountMinor, exponent: decimals }));
    }),
  });
  return {
    id: `volume-${currency}`,
    title: `Captured in ${currency}`,
    caption: "Money of payments that succeeded, and the part of it that failover saved.",
    lines: [
      line("Captured", meaningLooks.succeeded, "capturedMinor"),
      line("Saved by failover", meaningLooks.saved, "savedMinor"),
    ],
    ...moneyFormats({ currency, decimals }),
  };
}

export function moneyFormats(money: { readonly currency: string; readonly decimals: number }) {
  const { currency, decimals } = money;
  const axis = new Intl.NumberFormat(undefined, { style: "currency", currency, notation: "compact" });
  return {
    format: orDash((value) => formatMinor(BigInt(Math.round(value * 10 ** decimals)), money)),
    formatAxis: (value: number) => axis.format(value),
  };
}

/** Returns the currency to show first: the one with the most payments. */
export function busiest<Volume extends { readonly succeeded: bigint }>(volumes: readonly Volume[]): Volume | undefined {
  return volumes.toSorted((one, other) => Number(other.succeeded - one.succeeded))[0];
}

function latencyCharts({ points, latencyErrorMost }: GetAnalyticsResponse): ChartData[] {
  const line = (name: string, of: "payments" | "attempts", share: "p50Ms" | "p95Ms"): Line => ({
    name,
    values: points.map((point) => point[of]?.[share]),
  });
  return [
    {
      id: "latency",
      title: "Times",
      caption: `Accurate to ±${formatWholePercent(latencyErrorMost)}.`,
      lines: [
        line("Attempt", "attempts", "p50Ms"),
        line("Attempt, 95th", "attempts", "p95Ms"),
        line("Payment", "payments", "p50Ms"),
        line("Payment, 95th", "payments", "p95Ms"),
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

function authenticationCharts({ points, total }: GetAnalyticsResponse): ChartData[] {
  const all = total?.authentications;
  if (all === undefined || all.authentications === 0n) return [];
  return [
    {
      id: "authentications",
      title: "Authentications",
      caption: "Runs of 3-D Secure.",
      lines: ends
        .filter(([, end]) => all[end] > 0n)
        .map(([name, end]) => ({ name, values: points.map((point) => number(point.authentications?.[end])) })),
      format: orDash(formatCount),
      formatAxis: (value) => compact.format(value),
      isWhole: true,
    },
    {
      id: "challenges",
      title: "Challenge rate",
      caption: "Of payments, and of runs.",
      lines: [
        { name: "Challenged payments", values: points.map(({ payments }) => payments?.challengeRate) },
        {
          name: "Frictionless",
          values: points.map(({ authentications }) => authentications?.frictionlessRate),
        },
      ],
      ...rates,
    },
  ];
}

const countryNames = new Intl.DisplayNames(undefined, { type: "region" });

/** Returns the name of a card's brand, and of a country; both may be unknown. */
export const cardNames = {
  cardBrands: (brand: string) => (brand === "" ? "Unknown" : nameOfBrand(brand)),
  issuingCountries: (country: string) => (country === "" ? "Unknown" : (countryNames.of(country) ?? country)),
} as const;

// Lines that a small chart has room for. The service returns more of each point.
const [linesMax, codesMax] = [4, 3];

function cardCharts({ points, total }: GetAnalyticsResponse): ChartData[] {
  const chart = (by: keyof typeof cardNames, title: string): ChartData[] => {
    const values = (total?.[by] ?? []).slice(0, linesMax).map(({ value }) => value);
    if (values.every((value) => value === "")) return [];
    return [
      {
        id: by,
        title,
        caption: "Those with the most payments.",
        lines: values.map((value) => ({
          name: cardNames[by](value),
          values: points.map((point) => point[by].find((each) => each.value === value)?.approvalRate),
        })),
        ...rates,
      },
    ];
  };
  return [...chart("cardBrands", "Approval by brand"), ...chart("issuingCountries", "Approval by country")];
}

function declineCharts({ points, total }: GetAnalyticsResponse): ChartData[] {
  const codes = (total?.declineCodes ?? []).slice(0, codesMax).map(({ declineCode }) => declineCode);
  if (codes.length === 0) return [];
  return [
    {
      id: "decline-codes",
      title: "Decline codes",
      caption: "The most frequent.",
      lines: codes.map((code) => ({
        name: code.replaceAll("_", " "),
        values: points.map((point) => number(point.declineCodes.find((each) => each.declineCode === code)?.attempts)),
      })),
      format: orDash(formatCount),
      formatAxis: (value) => compact.format(value),
      isWhole: true,
    },
  ];
}
