/** Splits of the range: the two plans of each, compared by approval, time and what gateways charge for. */
import { Fragment } from "react";
import type {
  ArmCounts,
  GetAnalyticsResponse,
  RateEstimate,
  SplitComparison,
} from "../../../../gen/dashboard/v1/analytics_pb.ts";
import { Fold } from "../parts/fold.tsx";
import { nameGatewaysIn, nameOfGateway } from "../parts/gateway-name.ts";
import { decimalOf } from "../parts/minor-units.ts";
import { formatCount, formatMinor, formatMs, formatRate } from "../parts/numbers.ts";
import { endedOf } from "../parts/outcomes.ts";
import { TableScroll } from "../parts/table-scroll.tsx";

/** A section for each split. */
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
        Payments of the chosen days. {percent} % of payments go to variant B, by rule version {ruleVersions.join(", ")}.
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
            <span className="badge" data-tone={isSignificant ? "good" : "warn"}>
              {isSignificant ? "Significant difference" : "No significant difference"}
            </span>{" "}
          </>
        )}
        {verdict}
      </p>
      <VariantTable name={name} arms={arms} />
      <h3>What gateways charge for</h3>
      <CostTable name={name} arms={arms} />
      <p className="soft small">
        At 95 % confidence, about 19 of 20 such intervals contain the true rate (Wilson’s interval; Newcombe’s for the
        difference). Decide in advance how long you compare: if you look every day and stop at the first difference, you
        find one by chance.
      </p>
    </Fold>
  );
}

/** The variants of the split that a sentence names as `name`. */
type TableProps = { readonly name: string; readonly arms: readonly NamedArm[] };
type NamedArm = readonly [name: string, counts: ArmCounts];

function VariantTable({ name, arms }: TableProps) {
  return (
    <TableScroll label={`Variants of ${name}`}>
      <table className="counts">
        <thead>
          <tr>
            <th scope="col">Variant</th>
            <th scope="col">Payments</th>
            <th scope="col">Approval rate</th>
            <th scope="col">At 95 % confidence</th>
            <th scope="col">Released</th>
            <th scope="col">Saved by failover</th>
            <th scope="col">Attempts per payment</th>
            <th scope="col">Median time to outcome</th>
            <th scope="col">95th percentile</th>
          </tr>
        </thead>
        <tbody>
          {arms.map(([arm, counts]) => (
            <tr key={arm}>
              <th scope="row">{arm}</th>
              <td>{formatCount(endedOf(counts))}</td>
              <td>{formatRate(counts.approval?.value)}</td>
              <td>{interval(counts.approval)}</td>
              <td>{formatCount(counts.released)}</td>
              <td>{formatCount(counts.savedByFailover)}</td>
              <td>{attemptsPerPayment(counts)}</td>
              <td>{formatMs(counts.p50Ms)}</td>
              <td>{formatMs(counts.p95Ms)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableScroll>
  );
}

function CostTable({ name, arms }: TableProps) {
  return (
    <TableScroll label={`What gateways charge for in ${name}`}>
      <table className="counts">
        <thead>
          <tr>
            <th scope="col">Variant</th>
            <th scope="col" className="text">
              Gateway
            </th>
            <th scope="col">Attempts</th>
            <th scope="col">Captures</th>
            <th scope="col">Voided holds</th>
            <th scope="col">Captured</th>
          </tr>
        </thead>
        <tbody>
          {arms.flatMap(([arm, { costs }]) =>
            costs.map((cost) => (
              <tr key={`${arm} ${cost.gateway} ${cost.currency}`}>
                <th scope="row">{arm}</th>
                <td className="text">{nameOfGateway(cost.gateway)}</td>
                <td>{formatCount(cost.attempts)}</td>
                <td>{formatCount(cost.captured)}</td>
                <td>{formatCount(cost.voided)}</td>
                <td>{formatMinor(cost.capturedMinor, cost)}</td>
              </tr>
            )),
          )}
        </tbody>
      </table>
    </TableScroll>
  );
}

function interval(rate: RateEstimate | undefined): string {
  return rate === undefined ? "–" : `${formatRate(rate.low)} – ${formatRate(rate.high)}`;
}

/** Returns both tables as one: a row for each variant, and one for each of its gateways and currencies. */
function csvOfSplit(arms: readonly NamedArm[]): (string | number)[][] {
  const headings = [
    ...["Variant", "Gateway", "Currency", "Payments", "Approval rate", "95 % from", "95 % to", "Released"],
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
