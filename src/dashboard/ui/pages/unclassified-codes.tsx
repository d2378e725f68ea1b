/** Decline codes that nobody has judged: each stops its payment until somebody does. */
import { useQuery } from "@connectrpc/connect-query";
import { GatewayConnectionService } from "../../../../gen/dashboard/v1/gateway_connections_pb.ts";
import { nameOfGateway } from "../parts/gateway-name.ts";
import { Failure } from "../parts/states.tsx";
import { TableScroll } from "../parts/table-scroll.tsx";
import { Moment } from "../parts/time.tsx";
import { useScope } from "../scope.ts";

/** Nothing while there are none. */
export function UnclassifiedCodes() {
  const { merchantId, environment } = useScope();
  const scope = { merchantId, environment };
  const { data, error, refetch } = useQuery(GatewayConnectionService.method.listUnclassifiedCodes, scope);
  if (error) return <Failure error={error} onRetry={refetch} />;
  if (!data || data.codes.length === 0) return null;
  return (
    <section className="card" aria-labelledby="unclassified">
      <h2 id="unclassified">Decline codes that nobody has classified</h2>
      <p>
        A payment that gets one ends there, as nobody has judged whether another gateway may be asked. Tell us of those
        that come often.
      </p>
      <TableScroll label="Unclassified decline codes">
        <table className="codes">
          <thead>
            <tr>
              <th scope="col">Code</th>
              <th scope="col">Payments stopped</th>
              <th scope="col">First</th>
              <th scope="col">Last</th>
              <th scope="col">Last attempt</th>
            </tr>
          </thead>
          <tbody>
            {data.codes.map(({ gateway, gatewayCode, attempts, firstSeenAt, lastSeenAt, attemptId }) => (
              <tr key={`${gateway} ${gatewayCode}`}>
                <th scope="row">
                  <code>
                    <bdi>{gatewayCode}</bdi>
                  </code>
                  <div className="soft small">{nameOfGateway(gateway)}</div>
                </th>
                <td>{String(attempts)}</td>
                <td>
                  <Moment at={firstSeenAt} />
                </td>
                <td>
                  <Moment at={lastSeenAt} />
                </td>
                <td>
                  <code className="small">{attemptId}</code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableScroll>
    </section>
  );
}
