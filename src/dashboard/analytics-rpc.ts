/** Analytics: proto ↔ core. The schema defines each count. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type AnalyticsService,
  type AttemptCountsSchema,
  type AuthenticationCountsSchema,
  type CardCountsSchema,
  type DeclineCountSchema,
  GetAnalyticsResponseSchema,
  type InitiatorCountsSchema,
  type PaymentCountsSchema,
  PointLength,
  type WalletCountsSchema,
} from "../../gen/dashboard/v1/analytics_pb.ts";
import { Initiator } from "../../gen/payments/v1/payment_session_pb.ts";
import { listBraking } from "../core/card-testing/held-braking.ts";
import { listConnections } from "../gateways/connections.ts";
import { isoExponent } from "../platform/money.ts";
import type { Runtime } from "../platform/runtime.ts";
import { cutRange, type PointLength as Length, periodBefore } from "../reporting/analytics/analytics-range.ts";
import { loadFees } from "../reporting/analytics/arm-fees.ts";
import { timeAtBankUnit } from "../reporting/analytics/counted-facts.ts";
import { latencyErrorMax, mergeHistograms, percentileMs } from "../reporting/analytics/latency-histogram.ts";
import {
  type AttemptCounts,
  type AuthenticationCounts,
  type CardCounts,
  type DeclineCounts,
  loadCounts,
  loadPayments,
  loadRenewals,
  loadWalletCounts,
  type PaymentCounts,
  type WalletCounts,
} from "../reporting/analytics/load-counts.ts";
import { loadComparisons } from "../reporting/analytics/split-comparisons.ts";
import { periodMessage } from "./braking-messages.ts";
import { nameIn } from "./routing-messages.ts";
import { scopedContextOf } from "./rpc-context.ts";
import { comparisonMessage } from "./split-messages.ts";

const lengths: Readonly<Partial<Record<PointLength, Length>>> = {
  [PointLength.HOUR]: "hour",
  [PointLength.DAY]: "day",
  [PointLength.WEEK]: "week",
};
const lengthMessages = { hour: PointLength.HOUR, day: PointLength.DAY, week: PointLength.WEEK } as const;

export function createAnalyticsService({
  runtime,
}: {
  runtime: Pick<Runtime, "now">;
}): ServiceImpl<typeof AnalyticsService> {
  return {
    async getAnalytics(
      { pointLength, gateway, currency, withPeriodBefore, withInitiators, withWallets, ...days },
      context,
    ) {
      const { merchantId, environment } = scopedContextOf(context);
      const { reads } = environment;
      const range = await cutRange(reads, { ...days, pointLength: lengths[pointLength] });
      const before = withPeriodBefore ? await periodBefore(reads, days, { range, now: runtime.now() }) : undefined;
      const asked = { merchantId, range, currency: currency || undefined };
      const [counts, comparisons, paymentsBefore, braking, renewals, wallets] = await Promise.all([
        loadCounts(reads, asked),
        loadComparisons(reads, asked),
        before && loadPayments(reads, { ...asked, range: before }),
        listBraking(reads, { merchantId, from: range.startsAt[0]!, to: range.endsAt }),
        withInitiators ? loadRenewals(reads, asked) : undefined,
        withWallets ? loadWalletCounts(reads, asked) : undefined,
      ]);
      const nameOf = comparisons.length === 0 ? String : nameIn(await listConnections(reads, merchantId));
      const fees = await loadFees(reads, asked, { comparisons, now: runtime.now() });
      const isAsked = (row: { readonly gateway: string }) => gateway === "" || row.gateway === gateway;
      const payments = counts.payments.filter((row) => currency === "" || row.currency === currency);
      const attempts = counts.attempts.filter(isAsked);
      const authentications = counts.authentications.filter(isAsked);
      const declines = counts.declines.filter(isAsked);
      const { cards } = counts;
      const all = { payments, attempts, authentications, cards, declines };
      const total = pointMessage(range.startsAt[0]!, all);
      const ofPoint = <Row extends { readonly point: number }>(rows: readonly Row[]) => {
        const byPoint = Map.groupBy(rows, ({ point }) => point);
        return (point: number) => byPoint.get(point) ?? [];
      };
      const [paymentsIn, attemptsIn] = [ofPoint(payments), ofPoint(attempts)];
      const [authenticationsIn, cardsIn, declinesIn] = [ofPoint(authentications), ofPoint(cards), ofPoint(declines)];
      const frequent = frequentOf(total);
      return create(GetAnalyticsResponseSchema, {
        from: timestampFromDate(range.startsAt[0]!),
        to: timestampFromDate(range.endsAt),
        pointLength: lengthMessages[range.pointLength],
        total,
        points: range.startsAt.map((at, point) => {
          const counted = {
            payments: paymentsIn(point),
            attempts: attemptsIn(point),
            authentications: authenticationsIn(point),
            cards: cardsIn(point),
            declines: declinesIn(point),
          };
          return frequent(pointMessage(at, counted));
        }),
        declines: declineMessages(declines, ({ gateway: named, declineCode }) => `${named} ${declineCode}`),
        gateways: namesOf(counts.attempts.map((row) => row.gateway)),
        currencies: namesOf(counts.payments.map((row) => row.currency)),
        latencyErrorMost: latencyErrorMax,
        braking: braking.map(periodMessage),
        initiators: renewals ? initiatorMessages(payments, renewals) : [],
        wallets: wallets ? walletMessages(payments, wallets) : [],
        splits: comparisons.map((comparison) => comparisonMessage(comparison, { nameOf, fees })),
        ...(before &&
          paymentsBefore && {
            periodBefore: paymentMessage(paymentsBefore),
            periodBeforeFrom: timestampFromDate(before.startsAt[0]!),
            periodBeforeTo: timestampFromDate(before.endsAt),
          }),
      });
    },
  };
}

const namesOf = (names: readonly string[]) => [...new Set(names)].sort();

type Counts = {
  readonly payments: readonly PaymentCounts[];
  readonly attempts: readonly AttemptCounts[];
  readonly authentications: readonly AuthenticationCounts[];
  readonly cards: readonly CardCounts[];
  readonly declines: readonly DeclineCounts[];
};

// The most lines of a chart that a person can still distinguish.
const frequentMax = 6;

/** Returns a function that keeps only the most frequent rows of a point in the range. */
function frequentOf(total: ReturnType<typeof pointMessage>) {
  const firstOf = (names: readonly string[]) => new Set(names.slice(0, frequentMax));
  const brands = firstOf(total.cardBrands.map(({ value }) => value));
  const countries = firstOf(total.issuingCountries.map(({ value }) => value));
  const codes = firstOf(total.declineCodes.map(({ declineCode }) => declineCode));
  return (point: ReturnType<typeof pointMessage>) => ({
    ...point,
    cardBrands: point.cardBrands.filter(({ value }) => brands.has(value)),
    issuingCountries: point.issuingCountries.filter(({ value }) => countries.has(value)),
    declineCodes: point.declineCodes.filter(({ declineCode }) => codes.has(declineCode)),
  });
}

function pointMessage(at: Date, { payments, attempts, authentications, cards, declines }: Counts) {
  const byGateway = Map.groupBy(attempts, ({ gateway }) => gateway);
  const askedBy = Map.groupBy(authentications, ({ gateway }) => gateway);
  return {
    startsAt: timestampFromDate(at),
    payments: paymentMessage(payments),
    attempts: attemptMessage("", attempts),
    gateways: namesOf([...byGateway.keys()]).map((gateway) => attemptMessage(gateway, byGateway.get(gateway)!)),
    authentications: authenticationMessage("", authentications),
    authenticatingGateways: namesOf([...askedBy.keys()]).map((gateway) =>
      authenticationMessage(gateway, askedBy.get(gateway)!),
    ),
    cardBrands: cardMessages(cards.filter(({ fact }) => fact === "BRAND")),
    issuingCountries: cardMessages(cards.filter(({ fact }) => fact === "COUNTRY")),
    declineCodes: declineMessages(
      declines.map((row) => ({ ...row, gateway: "" })),
      ({ declineCode }) => declineCode,
    ),
  };
}

type Outcomes = { readonly [Name in "succeeded" | "released" | "declined" | "degraded"]: number };

/** Returns how payments ended that were submitted; each is in one of the counts. */
function outcomesOf(sum: (name: keyof Outcomes) => number): Outcomes {
  const [succeeded, released] = [sum("succeeded"), sum("released")];
  return { succeeded, released, declined: sum("declined"), degraded: sum("degraded") };
}

const endedOf = ({ succeeded, released, declined, degraded }: Outcomes) => succeeded + released + declined + degraded;

function outcomesMessage({ succeeded, released, declined, degraded }: Outcomes) {
  return {
    succeeded: BigInt(succeeded),
    released: BigInt(released),
    declined: BigInt(declined),
    degraded: BigInt(degraded),
  };
}

/** Adds up payments by one fact about their cards, the most frequent first. */
function cardMessages(rows: readonly CardCounts[]) {
  const byValue = [...Map.groupBy(rows, ({ value }) => value)].map(([value, of]) => {
    const sum = sumOf(of);
    const ends = outcomesOf(sum);
    return { value, ...ends, saved: sum("saved"), payments: endedOf(ends) };
  });
  return byValue
    .toSorted((left, right) => right.payments - left.payments || (left.value < right.value ? -1 : 1))
    .map(
      ({ value, saved, payments, ...ends }) =>
        ({
          value,
          ...outcomesMessage(ends),
          savedByFailover: BigInt(saved),
          ...rate("approvalRate", ends.succeeded + ends.released, payments),
        }) satisfies MessageInitShape<typeof CardCountsSchema>,
    );
}

type Made = Outcomes & { readonly saved: number };

/** Returns the payments that customers made, and those that the merchant made: all others are customers'. */
function initiatorMessages(payments: readonly PaymentCounts[], renewals: readonly Made[]) {
  const [all, byMerchant] = [sumOf<Made>(payments), sumOf<Made>(renewals)];
  const byCustomers = (name: keyof Made) => all(name) - byMerchant(name);
  return [initiatorMessage(Initiator.CUSTOMER, byCustomers), initiatorMessage(Initiator.MERCHANT, byMerchant)];
}

function initiatorMessage(initiator: Initiator, sum: (name: keyof Made) => number) {
  return { initiator, ...madeMessage(sum) } satisfies MessageInitShape<typeof InitiatorCountsSchema>;
}

function madeMessage(sum: (name: keyof Made) => number) {
  const ends = outcomesOf(sum);
  return {
    ...outcomesMessage(ends),
    savedByFailover: BigInt(sum("saved")),
    ...rate("approvalRate", ends.succeeded + ends.released, endedOf(ends)),
  };
}

/** Returns the payments by each wallet, by name, and those with a card, which are all others. */
function walletMessages(payments: readonly PaymentCounts[], wallets: readonly WalletCounts[]) {
  const [all, byWallets] = [sumOf<Made>(payments), sumOf<Made>(wallets)];
  const ofWallets = wallets.map(({ wallet, resendsApproved, resendsRefused, ...row }) => ({
    wallet: wallet || "unknown",
    ...madeMessage((name) => row[name]),
    resendsApproved: BigInt(resendsApproved),
    resendsRefused: BigInt(resendsRefused),
  }));
  return [
    ...ofWallets.toSorted((left, right) => (left.wallet < right.wallet ? -1 : 1)),
    { wallet: "", ...madeMessage((name) => all(name) - byWallets(name)) },
  ] satisfies MessageInitShape<typeof WalletCountsSchema>[];
}

/** Adds up declines by a key, the most frequent first. */
function declineMessages(rows: readonly DeclineCounts[], keyOf: (row: DeclineCounts) => string) {
  return [...Map.groupBy(rows, keyOf).values()]
    .map((of) => ({ ...of[0]!, attempts: sumOf(of)("attempts") }))
    .toSorted((left, right) => right.attempts - left.attempts || (left.declineCode < right.declineCode ? -1 : 1))
    .map(
      ({ gateway, declineCode, attempts }) =>
        ({ gateway, declineCode, attempts: BigInt(attempts) }) satisfies MessageInitShape<typeof DeclineCountSchema>,
    );
}

function paymentMessage(rows: readonly PaymentCounts[]): MessageInitShape<typeof PaymentCountsSchema> {
  const sum = sumOf(rows);
  const ends = outcomesOf(sum);
  const ended = endedOf(ends);
  const byCurrency = Map.groupBy(rows, ({ currency }) => currency);
  const money = (of: readonly PaymentCounts[], name: "volumeMinor" | "savedMinor" | "issuerMinor") =>
    of.reduce((total, row) => total + row[name], 0n);
  return {
    ...outcomesMessage(ends),
    expired: BigInt(sum("expired")),
    savedByFailover: BigInt(sum("saved")),
    challenged: BigInt(sum("challenged")),
    ...rate("approvalRate", ends.succeeded + ends.released, ended),
    authenticated: BigInt(sum("authenticated")),
    savedAuthenticated: BigInt(sum("savedAuthenticated")),
    challengedAgain: BigInt(sum("challengedAgain")),
    ...rate("challengeRate", sum("challenged"), ended),
    ...rate("authenticatedRate", sum("authenticated"), ended),
    ...percentiles(rows),
    volumes: namesOf([...byCurrency.keys()]).map((currency) => {
      const of = byCurrency.get(currency)!;
      return {
        currency,
        decimals: isoExponent(currency),
        capturedMinor: money(of, "volumeMinor"),
        savedMinor: money(of, "savedMinor"),
        issuerLiableMinor: money(of, "issuerMinor"),
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
    authenticationRequired: BigInt(sum("authenticationRequired")),
    recovered: BigInt(sum("recovered")),
    ...rate("approvalRate", approved, attempts),
    ...rate("technicalFailureRate", failed, attempts),
    ...percentiles(rows),
  };
}

function authenticationMessage(
  gateway: string,
  rows: readonly AuthenticationCounts[],
): MessageInitShape<typeof AuthenticationCountsSchema> {
  const sum = sumOf(rows);
  const ends = ["passed", "exempted", "failed", "cancelled", "abandoned", "unavailable"] as const;
  const counts = Object.fromEntries(ends.map((end) => [end, BigInt(sum(end))]));
  const all = ends.reduce((total, end) => total + sum(end), 0);
  return {
    gateway,
    authentications: BigInt(all),
    ...counts,
    frictionless: BigInt(sum("frictionless")),
    ...rate("frictionlessRate", sum("frictionless"), all),
    neverShown: BigInt(sum("neverShown")),
    issuerLiable: BigInt(sum("issuerLiable")),
    ...percentiles(rows, timeAtBankUnit),
  };
}

function sumOf<Row extends object>(rows: readonly Row[]) {
  return (name: { [Name in keyof Row]: Row[Name] extends number ? Name : never }[keyof Row]): number =>
    rows.reduce((total, row) => total + (row[name] as number), 0);
}

function rate<Name extends string>(name: Name, part: number, whole: number) {
  return (whole === 0 ? {} : { [name]: part / whole }) as Partial<Record<Name, number>>;
}

function percentiles(rows: readonly { readonly latency: readonly number[] }[], unitMs = 1) {
  const histogram = mergeHistograms(rows.map(({ latency }) => latency));
  const [p50, p95] = [percentileMs(histogram, 0.5), percentileMs(histogram, 0.95)];
  return { ...(p50 !== undefined && { p50Ms: p50 * unitMs }), ...(p95 !== undefined && { p95Ms: p95 * unitMs }) };
}
