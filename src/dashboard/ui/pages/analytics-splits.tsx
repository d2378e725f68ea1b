/** Splits of the range: the two plans of each, compared by approval, time and what gateways charge for. */
import { Fragment } from "react";
import type {
  ArmCounts,
  GetAnalyticsResponse,
  RateEstimate,
  SplitComparison,
} from "../../../../gen/dashboard/v1/analytics_pb.ts";
import { nameGatewaysIn, nameOfGateway } from "../parts/gateway-name.ts";
import { formatCount, formatMinor, formatMs, formatRate } from "../parts/numbers.ts";
import { TableScroll } from "../parts/table-scroll.tsx";

/** A section for each split; nothing where no payment of one has ended. */
export function Splits({ splits }: Pick<GetAnalyticsResponse, "splits">) {
  return splits.map((split, index) => (
    <Split key={`${split.case} ${split.ruleVersions.join()}`} split={split} id={`split-${index}`} />
  ));
}

function Split({ split, id }: { split: SplitComparison; id: string }) {
  const { a, b, percent, ruleVersions, isSignificant, verdict } = split;
  if (!a || !b) return null;
  const name = split.case === undefined ? "the default plan" : `the case “${split.case}”`;
  const arms = [
    ["Arm A", a],
    ["Arm B", b],
  ] as const;
  return (
    <section className="card" aria-labelledby={id}>
      <h2 id={id}>Split of {name}</h2>
      <p className="soft small">
        {percent} % of payments go to arm B, by rule version {ruleVersions.join(", ")}.
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
        <span className="badge" data-tone={isSignificant ? "good" : "warn"}>
          {isSignificant ? "A difference" : "No difference yet"}
        </span>{" "}
        {verdict}
      </p>
      <TableScroll label={`Arms of ${name}`}>
        <table className="counts">
          <thead>
            <tr>
              <th scope="col">Arm</th>
              <th scope="col">Payments</th>
              <th scope="col">Approved</th>
              <th scope="col">95 % interval</th>
              <th scope="col">Saved by failover</th>
              <th scope="col">Attempts per payment</th>
              <th scope="col">Median</th>
              <th scope="col">95th percentile</th>
            </tr>
          </thead>
          <tbody>
            {arms.map(([arm, counts]) => (
              <tr key={arm}>
                <th scope="row">{arm}</th>
                <td>{formatCount(paymentsOf(counts))}</td>
                <td>{formatRate(counts.approval?.value)}</td>
                <td>{interval(counts.approval)}</td>
                <td>{formatCount(counts.savedByFailover)}</td>
                <td>{attemptsPerPayment(counts)}</td>
                <td>{formatMs(counts.p50Ms)}</td>
                <td>{formatMs(counts.p95Ms)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableScroll>
      <TableScroll label={`What gateways charge for in ${name}`}>
        <table className="counts">
          <thead>
            <tr>
              <th scope="col">What gateways charge for</th>
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
      <p className="soft small">
        Of 20 such intervals, about 19 contain the true rate (Wilson’s interval; Newcombe’s for the difference). Decide
        in advance how long you compare: who looks every day and stops at the first difference finds one by chance.
      </p>
    </section>
  );
}

const paymentsOf = ({ succeeded, declined, degraded }: ArmCounts) => succeeded + declined + degraded;

function interval(rate: RateEstimate | undefined): string {
  return rate === undefined ? "–" : `${formatRate(rate.low)} – ${formatRate(rate.high)}`;
}

function attemptsPerPayment(counts: ArmCounts): string {
  const payments = paymentsOf(counts);
  if (payments === 0n) return "–";
  const attempts = counts.costs.reduce((sum, cost) => sum + cost.attempts, 0n);
  return (Number(attempts) / Number(payments)).toFixed(2);
}
