/** Customer authentications of the range: how they ended, who is liable, and what they saved. */
import type { AnalyticsPoint, AuthenticationCounts } from "../../../../gen/dashboard/v1/analytics_pb.ts";
import { type CountsColumn, CountsTable, countColumn, csvRows, msColumn, rateColumn } from "../parts/counts-table.tsx";
import { Fact } from "../parts/fact.tsx";
import { Fold } from "../parts/fold.tsx";
import { formatCount, formatMinor, formatRate } from "../parts/numbers.ts";

const columns: readonly CountsColumn<AuthenticationCounts>[] = [
  countColumn("Authentications", (row) => row.authentications),
  rateColumn("Frictionless", (row) => row.frictionlessRate),
  countColumn("Passed", (row) => row.passed),
  countColumn("Exempted", (row) => row.exempted),
  countColumn("Failed", (row) => row.failed),
  countColumn("Cancelled", (row) => row.cancelled),
  countColumn("Abandoned", (row) => row.abandoned),
  countColumn("No answer", (row) => row.unavailable),
  countColumn("Never shown", (row) => row.neverShown),
  countColumn("Issuer liable", (row) => row.issuerLiable),
  msColumn("Median at the bank", (row) => row.p50Ms),
  msColumn("95th percentile", (row) => row.p95Ms),
];

/** Authentications by gateway and provider, as a table; nothing where there was none and no gateway wanted one. */
export function AuthenticationTable({ total }: { total: AnalyticsPoint }) {
  const { payments, attempts, authentications, authenticatingGateways } = total;
  if (!payments || !attempts || !authentications) return null;
  if (authentications.authentications === 0n && attempts.authenticationRequired === 0n) return null;
  const liable = payments.volumes.filter(({ issuerLiableMinor }) => issuerLiableMinor > 0n);
  const title = "Customer authentication";
  const table = { first: "Gateway or provider", rows: authenticatingGateways, columns };
  return (
    <Fold
      id="customer-authentication"
      title={title}
      about={`${formatCount(authentications.authentications)} runs of 3-D Secure`}
      rows={authenticatingGateways.length > 0 ? () => csvRows(table) : undefined}
    >
      <dl className="facts">
        <Fact name="Payments authenticated">
          {formatCount(payments.authenticated)}, {formatRate(payments.authenticatedRate)} of payments
        </Fact>
        <Fact name="Customers asked">
          {formatCount(payments.challenged)}, {formatRate(payments.challengeRate)} of payments;{" "}
          {formatCount(payments.challengedAgain)} more than once
        </Fact>
        <Fact name="Saved by failover after authentication">{formatCount(payments.savedAuthenticated)}</Fact>
        <Fact name="Declined for want of authentication">
          {formatCount(attempts.authenticationRequired)}{" "}
          {attempts.authenticationRequired === 1n ? "attempt" : "attempts"}, {formatCount(attempts.recovered)} followed
          by a success
        </Fact>
        {liable.length > 0 && <Fact name="Captured with the issuer liable">{liable.map(liableShare).join(" · ")}</Fact>}
      </dl>
      {authenticatingGateways.length > 0 && <CountsTable label={title} {...table} />}
    </Fold>
  );
}

type Liable = NonNullable<AnalyticsPoint["payments"]>["volumes"][number];

function liableShare({ issuerLiableMinor, capturedMinor, ...money }: Liable): string {
  const share = Number((issuerLiableMinor * 10_000n) / capturedMinor) / 10_000;
  return `${formatMinor(issuerLiableMinor, money)}, ${formatRate(share)} of ${money.currency}`;
}
