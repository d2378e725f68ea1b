/** Decline codes without a classification: each stops its payment until a person classifies it. */
import { useQuery } from "@connectrpc/connect-query";
import { GatewayConnectionService } from "../../../../gen/dashboard/v1/gateway_connections_pb.ts";
import { Gateway } from "../parts/brand.tsx";
import { RecordTable } from "../parts/record-table.tsx";
import { Failure } from "../parts/states.tsx";
import { Moment } from "../parts/time.tsx";
import { ScopeLink, useScope } from "../scope.ts";

export function UnclassifiedCodes() {
  const { merchantId, environment } = useScope();
  const scope = { merchantId, environment };
  const { data, error, refetch } = useQuery(GatewayConnectionService.method.listUnclassifiedCodes, scope);
  if (error) return <Failure error={error} onRetry={refetch} />;
  if (!data || data.codes.length === 0) return null;
  return (
    <section className="card" aria-labelledby="unclassified">
      <h2 id="unclassified">Unclassified decline codes</h2>
      <p>
        A payment ends when its gateway answers with such a code, because it is unknown whether another gateway may be
        tried. Report frequent codes to us.
      </p>
      <RecordTable
        label="Unclassified decline codes"
        className="codes"
        columns={["Code", "Payments stopped", "First", "Last", "Last payment"].map((name) => ({ name }))}
        rows={data.codes.map(({ gateway, gatewayCode, attempts, firstSeenAt, lastSeenAt, attemptId }) => ({
          key: `${gateway} ${gatewayCode}`,
          cells: [
            <>
              <code>
                <bdi>{gatewayCode}</bdi>
              </code>
              <div className="soft small">
                <Gateway gateway={gateway} />
              </div>
            </>,
            String(attempts),
            <Moment key="first" at={firstSeenAt} />,
            <Moment key="last" at={lastSeenAt} />,
            <ScopeLink key="payment" to="./payments" search={{ q: attemptId }}>
              See the payment
            </ScopeLink>,
          ],
        }))}
      />
    </section>
  );
}
