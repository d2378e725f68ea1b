/** Splits of the range: the two plans of each, compared by approval, time and what gateways charge for. */
import { Fragment } from "react";
import type {
  ArmCounts,
  GetAnalyticsResponse,
  RateEstimate,
  SplitComparison,
} from "../../../../gen/dashboard/v1/analytics_pb.ts";
import { Badge } from "../parts/badge.tsx";
import { Fold } from "../parts/fold.tsx";
import { nameGatewaysIn, nameOfGateway } from "../parts/gateway-name.ts";
import { decimalOf } from "../parts/minor-units.ts";
import { formatCount, formatMinor, formatMs, formatRate, formatWholePercent } from "../parts/numbers.ts";
import { endedOf } from "../parts/outcomes.ts";
import { RecordTable } from "../parts/record-table.tsx";

export function Splits({ splits }: Pick<GetAnalyticsResponse, "splits">) {
  return splits.map((split, index) => (
    <Split key={`${split.case} ${split.ruleVersions.join()}`} split={split} id={`split-${index}`} />
  ));
}

function Split({ split, id }: { split: SplitComparison; id: string }) {
  const { a, b, percent, ruleVersions, isSignificant, verdict, paymentsNeeded } = split;
  if (!a || !b) return null;
  const name = split.case === undefined ? "the default plan" : `the case “${split.case}”`;
  const ended = endedOf(a) + endedOf(b);
  const arms = [
    ["Variant A", a],
    ["Variant B", b],
  ] as const;
  return (
    <Fold id={id} title={`Split of ${name}`} rows={() => csvOfSplit(arms)} isOpen>
      <p className="soft small">
        Payments of the chosen days. {formatWholePercent(percent / 100)} of payments go to variant B, by rule version{" "}
        {ruleVersions.join(", ")}.
      </p>
      <dl className="meanings">
        {arms.map(([arm, { plan }]) => (
          <Fragment key={arm}>
            <dt>{arm}</dt>
            <dd>{plan.map(nameGatewaysIn).join(", then ")}</dd>
          </Fragment>
        ))}
      </dl>
      <p>
        <strong>{formatCount(ended)} so far</strong> of about {formatCount(BigInt(paymentsNeeded))} payments that a
        difference of 5 points needs to be found.
      </p>
      <p>
        {ended > 0n && (
          <>
            <Badge tone={isSignificant ? "good" : "warn"}>
              {isSignificant ? "Significant difference" : "No significant difference"}
            </Badge>{" "}
          </>
        )}
        {verdict}
      </p>
      <VariantTable name={name} arms={arms} />
      <h3>What gateways charge for</h3>
      <CostTable name={name} arms={arms} />
      <h3>What gateways kept</h3>
      <Fees name={name} arms={arms} months={split.feeMonths} />
      <p className="soft small">
        At {confidence} confidence, about 19 of 20 such intervals contain the true rate (Wilson’s interval; Newcombe’s
        for the difference). Decide in advance how long you compare: if you look every day and stop at the first
        difference, you find one by chance.
      </p>
    </Fold>
  );
}

type TableProps = { readonly name: string; readonly arms: readonly NamedArm[] };
type NamedArm = readonly [name: string, counts: ArmCounts];

const confidence = formatWholePercent(0.95);
const variantColumns = [
  ...["Variant", "Payments", "Approval rate", `At ${confidence} confidence`, "Released", "Saved by failover"],
  ...["Attempts per payment", "Median time to outcome", "95th percentile"],
].map((name) => ({ name }));

function VariantTable({ name, arms }: TableProps) {
  const rows = arms.map(([arm, counts]) => ({
    key: arm,
    cells: [
      arm,
      formatCount(endedOf(counts)),
      formatRate(counts.approval?.value),
      interval(counts.approval),
      formatCount(counts.released),
      formatCount(counts.savedByFailover),
      attemptsPerPayment(counts),
      formatMs(counts.p50Ms),
      formatMs(counts.p95Ms),
    ],
  }));
  return <RecordTable label={`Variants of ${name}`} className="counts" columns={variantColumns} rows={rows} />;
}

const costColumns = [
  { name: "Variant" },
  { name: "Gateway", className: "text" },
  ...["Attempts", "Captures", "Voided holds", "Captured"].map((name) => ({ name })),
];

function CostTable({ name, arms }: TableProps) {
  const rows = arms.flatMap(([arm, { costs }]) =>
    costs.map((cost) => ({
      key: `${arm} ${cost.gateway} ${cost.currency}`,
      cells: [
        ...[arm, nameOfGateway(cost.gateway)],
        ...[cost.attempts, cost.captured, cost.voided].map(formatCount),
        formatMinor(cost.capturedMinor, cost),
      ],
    })),
  );
  const label = `What gateways charge for in ${name}`;
  return <RecordTable label={label} className="counts" columns={costColumns} rows={rows} />;
}

const feeColumns = [
  { name: "Variant" },
  { name: "Currency", className: "text" },
  ...["Payments", "Effective rate", "Fee per payment"].map((name) => ({ name })),
];

/** Compares the fees of both variants, once statements have enough of their payments. */
function Fees({ name, arms, months }: TableProps & { readonly months: readonly string[] }) {
  if (months.length === 0)
    return <p className="soft small">Fees are compared once a whole month of the range is paid out.</p>;
  const covered = arms.map(([arm, { feeCoverage }]) => `${arm} ${formatShare(feeCoverage)}`).join(", ");
  const of = [...new Set([months[0]!, months.at(-1)!])].map(formatMonth).join(" to ");
  const rows = arms.flatMap(([arm, { fees }]) =>
    fees.map(({ currency, decimals, payments, rate, perPaymentMinor }) => ({
      key: `${arm} ${currency}`,
      cells: [
        ...[arm, currency, formatCount(payments), formatFeeRate(rate)],
        perPaymentMinor === undefined ? "–" : formatMinor(BigInt(Math.round(perPaymentMinor)), { currency, decimals }),
      ],
    })),
  );
  const isHidden = arms.some(([, { fees }]) => fees.length === 0);
  return (
    <>
      <p className="soft small">
        Captured payments of {of} that statements have: {covered}.
        {isHidden && ` Fees are compared once each variant has ${confidence}.`}
      </p>
      {!isHidden && (
        <RecordTable label={`What gateways kept in ${name}`} className="counts" columns={feeColumns} rows={rows} />
      )}
    </>
  );
}

// Rounds down, so that a share that is hidden for too few payments never reads 95 %.
const formatShare = (share: number | undefined) =>
  share === undefined ? "none" : formatRate(Math.floor(share * 1_000) / 1_000);
const twoDecimals = new Intl.NumberFormat(undefined, {
  style: "percent",
  minimumFractionDigits: 2,
  maximumFractionDigits: 2,
});
const formatFeeRate = (rate: number | undefined) => (rate === undefined ? "–" : twoDecimals.format(rate));
const monthFormat = new Intl.DateTimeFormat(undefined, { month: "long", year: "numeric", timeZone: "UTC" });
const formatMonth = (month: string) => monthFormat.format(new Date(`${month}-01`));

function interval(rate: RateEstimate | undefined): string {
  return rate === undefined ? "–" : `${formatRate(rate.low)} – ${formatRate(rate.high)}`;
}

/** Returns both tables as one: a row for each variant, and one for each of its gateways and currencies. */
function csvOfSplit(arms: readonly NamedArm[]): (string | number)[][] {
  const headings = [
    ...[
      "Variant",
      "Gateway",
      "Currency",
      "Payments",
      "Approval rate",
      `${confidence} from`,
      `${confidence} to`,
      "Released",
    ],
    ...["Saved by failover", "Median time to outcome", "95th percentile", "Attempts", "Captures", "Voided holds"],
    "Captured",
  ];
  const ofArm = ([name, counts]: NamedArm) => {
    const { approval, released, savedByFailover, p50Ms, p95Ms, costs } = counts;
    const sum = (of: "attempts" | "captured" | "voided") => Number(costs.reduce((all, cost) => all + cost[of], 0n));
    return [
      ...[name, "", "", Number(endedOf(counts)), approval?.value ?? "", approval?.low ?? "", approval?.high ?? ""],
      ...[Number(released), Number(savedByFailover), p50Ms ?? "", p95Ms ?? ""],
      ...[sum("attempts"), sum("captured"), sum("voided"), ""],
    ];
  };
  return [
    headings,
    ...arms.flatMap((arm) => [
      ofArm(arm),
      ...arm[1].costs.map(({ gateway, currency, decimals, attempts, captured, voided, capturedMinor }) => [
        ...[arm[0], nameOfGateway(gateway), currency, "", "", "", "", "", "", "", ""],
        ...[attempts, captured, voided].map(Number),
        Number(decimalOf({ amountMinor: capturedMinor, exponent: decimals })),
      ]),
    ]),
  ];
}

function attemptsPerPayment(counts: ArmCounts): string {
  const payments = endedOf(counts);
  if (payments === 0n) return "–";
  const attempts = counts.costs.reduce((sum, cost) => sum + cost.attempts, 0n);
  return (Number(attempts) / Number(payments)).toFixed(2);
}
