/** `switchyard analytics`: outcomes of a merchant's payments over time. */
import { Command, Option } from "commander";
import type { AnalyticsView } from "../client/dashboard-client.ts";
import { amountInWords } from "../platform/money.ts";
import { administer, type MerchantOptions, merchantCommand, scopeOf } from "./attachment.ts";
import { table } from "./output.ts";
import { parseDay } from "./times.ts";

type AnalyticsOptions = MerchantOptions & {
  readonly from?: string;
  readonly to?: string;
  readonly timeZone: string;
  readonly points?: "hour" | "day" | "week";
  readonly gateway?: string;
  readonly currency?: string;
  readonly by?: "initiator" | "wallet";
};

const pointLengths = { hour: "POINT_LENGTH_HOUR", day: "POINT_LENGTH_DAY", week: "POINT_LENGTH_WEEK" } as const;
const dayMs = 86_400_000;

export function analyticsCommand(): Command {
  return new Command("analytics").addCommand(showCommand());
}

function showCommand(): Command {
  return merchantCommand("show", {
    description:
      "count payments and attempts over whole days, by default the last 7 days: today so far and the six before it; a payment counts on the day its outcome became final",
    example: "switchyard analytics show --from 2026-11-01 --to 2026-11-30 --time-zone Europe/Berlin --points week",
  })
    .option("--from <day>", "first day, such as 2026-11-15 (default: six days before the last day)", parseDay)
    .option("--to <day>", "last day, included (default: today)", parseDay)
    .option("--time-zone <name>", "time zone of the days, such as Europe/Berlin", "UTC")
    .addOption(
      new Option("--points <length>", "period of a row; chosen to fit the range by default").choices([
        "hour",
        "day",
        "week",
      ]),
    )
    .option("--gateway <gateway>", "count attempts and declines at this gateway only")
    .option("--currency <code>", "count payments in this currency only")
    .addOption(
      new Option("--by <part>", "count the payments by who made them, customer or merchant, or by wallet, too").choices(
        ["initiator", "wallet"],
      ),
    )
    .action(async (options: AnalyticsOptions) => {
      const { by, points, timeZone, gateway = "", currency = "" } = options;
      const lastDay = options.to ?? todayIn(timeZone);
      const firstDay = options.from ?? new Date(Date.parse(lastDay) - 6 * dayMs).toISOString().slice(0, 10);
      const pointLength = points && pointLengths[points];
      const request = {
        firstDay,
        lastDay,
        timeZone,
        gateway,
        currency,
        ...(pointLength && { pointLength }),
        withInitiators: by === "initiator",
        withWallets: by === "wallet",
      };
      await administer(
        options,
        ({ analytics }) => analytics.getAnalytics({ ...scopeOf(options), ...request }),
        (answer) => linesOf(answer, timeZone),
      );
    });
}

/** Today's date in a time zone. An unknown zone is passed through, so that the service refuses it. */
function todayIn(timeZone: string): string {
  try {
    return new Date().toLocaleDateString("sv-SE", { timeZone });
  } catch {
    return new Date().toISOString().slice(0, 10);
  }
}

type Point = NonNullable<AnalyticsView["total"]>;
type Attempts = NonNullable<Point["attempts"]>;
type Cards = NonNullable<Point["cardBrands"]>[number];
type Authentications = NonNullable<Point["authentications"]>;

function linesOf(answer: AnalyticsView, timeZone: string): string[] {
  const { total, to, points = [], declines = [], splits = [], initiators = [], wallets = [] } = answer;
  const at = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" });
  const now = new Date();
  const begun = points.filter(({ startsAt }) => new Date(String(startsAt)) <= now);
  const isRunning = (index: number) => index === begun.length - 1 && now < new Date(String(to));
  const named = begun.map((point, index): [string, Point] => [
    `${at.format(new Date(String(point.startsAt)))}${isRunning(index) ? ", so far" : ""}`,
    point,
  ]);
  return [
    ...table(
      [
        "FROM",
        "PAYMENTS",
        "SUCCEEDED",
        "RELEASED",
        "APPROVAL RATE",
        "SAVED",
        "ATTEMPTS",
        "APPROVAL RATE",
        "TECHNICAL FAILURES",
        "P50",
        "P95",
      ],
      [...named, ["all", total ?? {}] as [string, Point]].map(([name, point]) => pointCells(name, point)),
      "",
    ),
    "",
    ...table(
      ["GATEWAY", "ATTEMPTS", "APPROVAL RATE", "TIMEOUTS", "ERRORS", "P50", "P95"],
      (total?.gateways ?? []).map(gatewayCells),
      "No gateway was called.",
    ),
    "",
    ...table(
      [
        "GATEWAY",
        "CUSTOMERS ASKED",
        "PASSED",
        "FAILED",
        "CANCELLED",
        "ABANDONED",
        "NO ANSWER",
        "NEVER SHOWN",
        "P50",
        "P95",
      ],
      (total?.authenticatingGateways ?? []).map(authenticationCells),
      "No customer was asked to authenticate.",
    ),
    "",
    ...table(
      ["DECLINE CODE", "GATEWAY", "ATTEMPTS"],
      declines.map(({ declineCode = "", gateway = "", attempts = "0" }) => [declineCode, gateway, String(attempts)]),
      "No attempt was declined.",
    ),
    "",
    ...table(cardHeadings("CARD BRAND"), (total?.cardBrands ?? []).map(cardCells), "No payment ended."),
    "",
    ...table(cardHeadings("ISSUING COUNTRY"), (total?.issuingCountries ?? []).map(cardCells), "No payment ended."),
    "",
    ...table(
      ["CAPTURED", "SAVED BY FAILOVER"],
      (total?.payments?.volumes ?? []).map(({ currency = "", capturedMinor = "0", savedMinor = "0" }) => [
        amountInWords(Number(capturedMinor), currency),
        amountInWords(Number(savedMinor), currency),
      ]),
      "Nothing was captured.",
    ),
    ...(initiators.length === 0 ? [] : ["", ...table(cardHeadings("MADE BY"), initiators.map(initiatorCells), "")]),
    ...(wallets.length === 0
      ? []
      : ["", ...table([...cardHeadings("WALLET"), "RESENDS APPROVED", "REFUSED"], wallets.map(walletCells), "")]),
    ...splits.flatMap(splitLines),
  ];
}

type Split = NonNullable<AnalyticsView["splits"]>[number];
type Arm = NonNullable<Split["a"]>;

function splitLines(split: Split): string[] {
  const arms: [string, Arm][] = [
    ["A", split.a ?? {}],
    ["B", split.b ?? {}],
  ];
  const name = split.case === undefined ? "the default plan" : `the case “${split.case}”`;
  return [
    "",
    `Split of ${name}: ${split.percent} % to variant B, by rule version ${(split.ruleVersions ?? []).join(", ")}`,
    `  ${split.verdict}`,
    `  ${arms.reduce((sum, [, counts]) => sum + Number(endedOf(counts)), 0)} of about ${split.paymentsNeeded} payments that a difference of 5 points needs to be found.`,
    ...table(
      ["VARIANT", "PLAN", "PAYMENTS", "APPROVAL RATE", "AT 95 % CONFIDENCE", "RELEASED", "SAVED", "P50", "P95"],
      arms.map(([arm, counts]) => {
        const { plan = [], released, savedByFailover, approval, p50Ms, p95Ms } = counts;
        return [
          ...[arm, plan.join(" → "), String(endedOf(counts))],
          ...[percent(approval?.value), `${percent(approval?.low)} to ${percent(approval?.high)}`],
          ...[String(released), String(savedByFailover), duration(p50Ms), duration(p95Ms)],
        ];
      }),
      "",
    ),
    ...table(
      ["VARIANT", "GATEWAY", "ATTEMPTS", "CAPTURES", "VOIDED", "CAPTURED"],
      arms.flatMap(([arm, { costs = [] }]) =>
        costs.map(({ gateway = "", attempts, captured, voided, capturedMinor = "0", currency = "" }) => [
          ...[
            arm,
            gateway,
            String(attempts),
            String(captured),
            String(voided),
            amountInWords(Number(capturedMinor), currency),
          ],
        ]),
      ),
      "",
    ),
  ];
}

function pointCells(name: string, { payments = {}, attempts = {} }: Point): string[] {
  return [
    ...[name, String(endedOf(payments)), String(payments.succeeded), String(payments.released)],
    ...[percent(payments.approvalRate), String(payments.savedByFailover)],
    ...[String(attempts.attempts), percent(attempts.approvalRate), percent(attempts.technicalFailureRate)],
    ...[duration(payments.p50Ms), duration(payments.p95Ms)],
  ];
}

function gatewayCells({
  gateway = "",
  attempts,
  approvalRate,
  timeouts,
  gatewayErrors,
  p50Ms,
  p95Ms,
}: Attempts): string[] {
  const counts = [timeouts, gatewayErrors].map(String);
  return [gateway, String(attempts), percent(approvalRate), ...counts, duration(p50Ms), duration(p95Ms)];
}

/** Returns how many payments ended that were submitted. */
function endedOf({ succeeded, released, declined, degraded }: Outcomes): number {
  return [succeeded, released, declined, degraded].reduce<number>((sum, each) => sum + Number(each ?? 0), 0);
}
type Outcomes = { readonly [Name in "succeeded" | "released" | "declined" | "degraded"]?: number | string };

const cardHeadings = (first: string) => [
  ...[first, "SUCCEEDED", "RELEASED", "DECLINED", "DEGRADED", "SAVED", "APPROVAL RATE"],
];

function cardCells(row: Cards): string[] {
  const { value, succeeded, released, declined, degraded, savedByFailover, approvalRate } = row;
  const counts = [succeeded, released, declined, degraded, savedByFailover].map(String);
  return [value || "unknown", ...counts, percent(approvalRate)];
}

function initiatorCells({ initiator, ...row }: NonNullable<AnalyticsView["initiators"]>[number]): string[] {
  return cardCells({ ...row, value: initiator === "MERCHANT" ? "merchant" : "customer" });
}

function walletCells(row: NonNullable<AnalyticsView["wallets"]>[number]): string[] {
  const { wallet, resendsApproved, resendsRefused, ...counts } = row;
  return [...cardCells({ ...counts, value: wallet || "card" }), String(resendsApproved), String(resendsRefused)];
}

function authenticationCells(row: Authentications): string[] {
  const { gateway = "", authentications, passed, failed, cancelled, abandoned, unavailable, neverShown } = row;
  const counts = [authentications, passed, failed, cancelled, abandoned, unavailable, neverShown].map(String);
  return [gateway, ...counts, duration(row.p50Ms), duration(row.p95Ms)];
}

const percent = (rate: number | string | undefined) =>
  rate === undefined ? "-" : `${(100 * Number(rate)).toFixed(1)} %`;
const duration = (ms: number | string | undefined) => (ms === undefined ? "-" : `${Math.round(Number(ms))} ms`);
