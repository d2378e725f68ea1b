/** The last seven whole days beside the seven before them, and the newest payments. */
import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import { AnalyticsService, PointLength } from "../../../../gen/dashboard/v1/analytics_pb.ts";
import { PaymentService } from "../../../../gen/dashboard/v1/payments_pb.ts";
import { changeOf, changeOfRate, pairVolumes } from "../parts/comparison.ts";
import { formatCount, formatMinor, formatRate } from "../parts/numbers.ts";
import { Empty } from "../parts/states.tsx";
import { ownZone } from "../parts/time-zones.ts";
import { useScope } from "../scope.ts";
import { daysBefore, todayIn } from "./analytics-search.ts";
import { PaymentsTable } from "./payments-table.tsx";

const weekDays = 7;
const recentRows = 5;

/** The figures of the week. They end yesterday, so that both weeks are whole. Nothing where neither has a payment. */
export function Week() {
  const { environmentName: environment, merchantId } = useScope();
  const yesterday = daysBefore(todayIn(ownZone), 1);
  const [first, last] = [daysBefore(yesterday, weekDays - 1), yesterday];
  const now = useWeek(last)?.total?.payments;
  const before = useWeek(daysBefore(yesterday, weekDays))?.total?.payments;
  if (now === undefined || before === undefined) return null;
  const endedOf = (counts: typeof now) => counts.succeeded + counts.declined + counts.degraded;
  if (endedOf(now) + endedOf(before) === 0n) return null;
  return (
    <section className="stack" aria-labelledby="week">
      <div className="page-head">
        <div>
          <h2 id="week">Last seven days</h2>
          <p className="small">Until yesterday, beside the seven days before.</p>
        </div>
        <Link to="/$environment/$merchantId/analytics" params={{ environment, merchantId }} search={{ first, last }}>
          See the analytics
        </Link>
      </div>
      <dl className="tiles">
        {pairVolumes(now.volumes, before.volumes).map((pair) => (
          <div key={pair.currency}>
            <dt>Captured in {pair.currency}</dt>
            <dd className="value">{formatMinor(pair.now, pair)}</dd>
            <dd className="soft small">{changeOf(pair.now, pair.before)}</dd>
          </div>
        ))}
        <div>
          <dt>Payments approved</dt>
          <dd className="value">{formatRate(now.approvalRate)}</dd>
          <dd className="soft small">
            {changeOfRate(now.approvalRate, before.approvalRate) ?? `of ${formatCount(endedOf(now))} that ended`}
          </dd>
        </div>
        <div>
          <dt>Saved by failover</dt>
          <dd className="value saved">{formatCount(now.savedByFailover)}</dd>
          <dd className="soft small">{changeOf(now.savedByFailover, before.savedByFailover)}</dd>
        </div>
      </dl>
    </section>
  );
}

function useWeek(lastDay: string) {
  const { merchantId, environment } = useScope();
  const { data } = useQuery(AnalyticsService.method.getAnalytics, {
    ...{ merchantId, environment, firstDay: daysBefore(lastDay, weekDays - 1), lastDay },
    ...{ timeZone: ownZone, pointLength: PointLength.DAY },
  });
  return data;
}

/** The newest payments, or how the first one comes once everything is set up. */
export function Recent({ everyMs, isSetUp }: { everyMs: number; isSetUp: boolean }) {
  const { merchantId, environment, environmentName } = useScope();
  const { data } = useQuery(
    PaymentService.method.listPayments,
    { merchantId, environment, pageSize: recentRows },
    { refetchInterval: everyMs },
  );
  if (!data) return null;
  if (data.payments.length === 0) {
    if (!isSetUp) return null;
    return (
      <Empty title={`No payments in ${environmentName} yet`}>
        <p>They appear here as soon as your backend creates a session with the secret key.</p>
        <Link to="/$environment/$merchantId/keys" params={{ environment: environmentName, merchantId }}>
          See the API keys
        </Link>
      </Empty>
    );
  }
  return (
    <section className="stack" aria-labelledby="recent">
      <div className="page-head">
        <h2 id="recent">Recent payments</h2>
        <Link to="/$environment/$merchantId/payments" params={{ environment: environmentName, merchantId }}>
          See all payments
        </Link>
      </div>
      <PaymentsTable label="Newest payments" rows={data.payments.map((payment) => ({ payment }))} />
    </section>
  );
}
