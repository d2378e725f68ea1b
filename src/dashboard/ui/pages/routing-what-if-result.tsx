/** The result of a simulation on past payments: its figures, and payments with another outcome. */
import { ReplayedPayment_End as End, type ReplayedPayment } from "../../../../gen/dashboard/v1/routing_rules_pb.ts";
import { Badge, type Tone } from "../parts/badge.tsx";
import { nameGatewaysIn, nameOfGateway } from "../parts/gateway-name.ts";
import { TableScroll } from "../parts/table-scroll.tsx";
import { Moment } from "../parts/time.tsx";
import { ScopeLink } from "../scope.ts";
import { type Totals, whatIfRows } from "./what-if-totals.ts";

export function WhatIfResult({ totals, isWhole }: { totals: Totals; isWhole: boolean }) {
  if (totals.counts.payments === 0) {
    return isWhole ? <p role="status">No submitted payment ended in this period.</p> : null;
  }
  return (
    <div className="form" role="status">
      <dl className="figures">
        {whatIfRows(totals.counts).map(({ name, value, detail }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
            <dd className="soft small">{detail}</dd>
          </div>
        ))}
      </dl>
      {isWhole && totals.examples.length > 0 && <Examples examples={totals.examples} />}
      <p className="small soft">
        The simulation assumes that each gateway answers as it did then, and that connections are as they are now. It
        ignores circuit breakers and the time budget of a payment.
      </p>
    </div>
  );
}

const stateNames: Readonly<Record<string, string>> = {
  SUCCEEDED: "Succeeded",
  RELEASED: "Released",
  DECLINED: "Declined",
  DEGRADED: "Failed",
};

const endNames: Readonly<Record<number, readonly [string, Tone]>> = {
  [End.SUCCEEDS]: ["Succeeds", "good"],
  [End.FAILS]: ["Fails", "bad"],
  [End.CANNOT_KNOW]: ["Unknown", "warn"],
};

function Examples({ examples }: { examples: readonly ReplayedPayment[] }) {
  const path = (gateways: readonly string[]) => gateways.map(nameOfGateway).join(" → ") || "no gateway";
  return (
    <TableScroll label="Payments with another outcome">
      <table>
        <thead>
          <tr>
            <th scope="col">Payment</th>
            <th scope="col">Actual</th>
            <th scope="col">Simulated</th>
          </tr>
        </thead>
        <tbody>
          {examples.map((each) => (
            <tr key={each.sessionId}>
              <td>
                <Moment at={each.createdAt} />
                <div>
                  <ScopeLink className="mono small" to="./payments/$sessionId" params={{ sessionId: each.sessionId }}>
                    {each.sessionId}
                  </ScopeLink>
                </div>
              </td>
              <td>
                {path(each.askedThen)}
                <div className="small soft">{stateNames[each.statusThen] ?? each.statusThen}</div>
              </td>
              <td>
                {path(each.askedInstead)} <Badge tone={endNames[each.end]?.[1]}>{endNames[each.end]?.[0]}</Badge>
                <div className="small soft">{nameGatewaysIn(each.because)}</div>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableScroll>
  );
}
