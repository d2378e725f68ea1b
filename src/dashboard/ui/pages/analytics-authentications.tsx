/** Customer authentications of the range: how they ended, who is liable, and what they saved. */
import type { AnalyticsPoint, AuthenticationCounts } from "../../../../gen/dashboard/v1/analytics_pb.ts";
import { type CountsColumn, CountsTable } from "../parts/counts-table.tsx";
import { formatCount, formatMinor, formatMs, formatRate } from "../parts/numbers.ts";

const columns: readonly CountsColumn<AuthenticationCounts>[] = [
  ["Authentications", (row) => formatCount(row.authentications)],
  ["Frictionless", (row) => formatRate(row.frictionlessRate)],
  ["Passed", (row) => formatCount(row.passed)],
  ["Exempted", (row) => formatCount(row.exempted)],
  ["Failed", (row) => formatCount(row.failed)],
  ["Cancelled", (row) => formatCount(row.cancelled)],
  ["Abandoned", (row) => formatCount(row.abandoned)],
  ["No answer", (row) => formatCount(row.unavailable)],
  ["Never shown", (row) => formatCount(row.neverShown)],
  ["Issuer liable", (row) => formatCount(row.issuerLiable)],
  ["Median at the bank", (row) => formatMs(row.p50Ms)],
  ["95th percentile", (row) => formatMs(row.p95Ms)],
];

/** Authentications by gateway and provider, as a table; nothing where there was none and no gateway wanted one. */
export function AuthenticationTable({ total }: { total: AnalyticsPoint }) {
  const { payments, attempts, authentications, authenticatingGateways } = total;
  if (!payments || !attempts || !authentications) return null;
  if (authentications.authentications === 0n && attempts.authenticationRequired === 0n) return null;
  const liable = payments.volumes.filter(({ issuerLiableMinor }) => issuerLiableMinor > 0n);
  return (
    <section className="card" aria-labelledby="authentications">
      <h2 id="authentications">Customer authentication</h2>
      <dl className="facts">
        <div>
          <dt>Payments authenticated</dt>
          <dd>
            {formatCount(payments.authenticated)}, {formatRate(payments.authenticatedRate)} of payments
          </dd>
        </div>
        <div>
          <dt>Customers asked</dt>
          <dd>
            {formatCount(payments.challenged)}, {formatRate(payments.challengeRate)} of payments;{" "}
            {formatCount(payments.challengedAgain)} more than once
          </dd>
        </div>
        <div>
          <dt>Saved by failover after authentication</dt>
          <dd>{formatCount(payments.savedAuthenticated)}</dd>
        </div>
        <div>
          <dt>Declined for want of authentication</dt>
          <dd>
            {formatCount(attempts.authenticationRequired)}{" "}
            {attempts.authenticationRequired === 1n ? "attempt" : "attempts"}, {formatCount(attempts.recovered)}{" "}
            followed by a success
          </dd>
        </div>
        {liable.length > 0 && (
          <div>
            <dt>Captured with the issuer liable</dt>
            <dd>{liable.map(liableShare).join(" · ")}</dd>
          </div>
        )}
      </dl>
      {authenticatingGateways.length > 0 && (
        <CountsTable
          label="Customer authentication"
          first="Gateway or provider"
          rows={authenticatingGateways}
          columns={columns}
        />
      )}
    </section>
  );
}

type Liable = NonNullable<AnalyticsPoint["payments"]>["volumes"][number];

function liableShare({ issuerLiableMinor, capturedMinor, ...money }: Liable): string {
  const share = Number((issuerLiableMinor * 10_000n) / capturedMinor) / 10_000;
  return `${formatMinor(issuerLiableMinor, money)}, ${formatRate(share)} of ${money.currency}`;
}
