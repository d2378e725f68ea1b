/** Customer authentications of the range: how many customers were asked, and how that ended. */
import type { AnalyticsPoint } from "../../../../gen/dashboard/v1/analytics_pb.ts";
import { nameOfGateway } from "../parts/gateway-name.ts";
import { formatCount, formatMs, formatRate } from "../parts/numbers.ts";
import { TableScroll } from "../parts/table-scroll.tsx";

const head = [
  "Gateway",
  "Asked",
  "Passed",
  "Failed",
  "Cancelled",
  "Abandoned",
  "No answer",
  "Never shown",
  "Median at the bank",
  "95th percentile",
];

/** Authentications by gateway, as a table; nothing where no gateway asked for a customer. */
export function AuthenticationTable({ total }: { total: AnalyticsPoint }) {
  const { payments, attempts, authentications, authenticatingGateways } = total;
  if (!payments || !attempts || !authentications) return null;
  if (authentications.authentications === 0n && attempts.authenticationRequired === 0n) return null;
  return (
    <section className="card" aria-labelledby="authentications">
      <h2 id="authentications">Customer authentication</h2>
      <p className="soft small">
        Customers asked: {formatCount(payments.challenged)}, {formatRate(payments.challengeRate)} of payments. Attempts
        declined for want of authentication: {formatCount(attempts.authenticationRequired)}, of whose payments{" "}
        {formatCount(attempts.recovered)} succeeded.
      </p>
      {authenticatingGateways.length > 0 && (
        <TableScroll label="Customer authentication">
          <table className="counts">
            <thead>
              <tr>
                {head.map((name) => (
                  <th scope="col" key={name}>
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {authenticatingGateways.map((row) => (
                <tr key={row.gateway}>
                  <th scope="row">{nameOfGateway(row.gateway)}</th>
                  <td>{formatCount(row.authentications)}</td>
                  <td>{formatCount(row.passed)}</td>
                  <td>{formatCount(row.failed)}</td>
                  <td>{formatCount(row.cancelled)}</td>
                  <td>{formatCount(row.abandoned)}</td>
                  <td>{formatCount(row.unavailable)}</td>
                  <td>{formatCount(row.neverShown)}</td>
                  <td>{formatMs(row.p50Ms)}</td>
                  <td>{formatMs(row.p95Ms)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </TableScroll>
      )}
    </section>
  );
}
