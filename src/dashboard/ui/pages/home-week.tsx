/** The last seven days beside as long a time before them, and the newest payments. */
import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import { AnalyticsService, PointLength } from "../../../../gen/dashboard/v1/analytics_pb.ts";
import { PaymentService } from "../../../../gen/dashboard/v1/payments_pb.ts";
import { changeOf, changeOfRate, pairVolumes } from "../parts/comparison.ts";
import { formatCount, formatMinor, formatRate } from "../parts/numbers.ts";
import { endedOf } from "../parts/outcomes.ts";
import { Empty } from "../parts/states.tsx";
import { ownZone } from "../parts/time-zones.ts";
import { useScope } from "../scope.ts";
import { daysOf, presets } from "./analytics-search.ts";
import { PaymentsTable } from "./payments-table.tsx";

const recentRows = 5;

/** The figures of the last seven days beside those of as long a time before. Nothing where neither has a payment. */
export function Week() {
  const { environmentName: environment, merchantId } = useScope();
  const data = useWeek();
  const [now, before] = [data?.total?.payments, data?.periodBefore];
  if (!data || now === undefined || before === undefined) return null;
  if (endedOf(now) + endedOf(before) === 0n) return null;
  return (
    <section className="stack" aria-labelledby="week">
      <div className="page-head">
        <div>
          <h2 id="week">{presets["7d"].name}</h2>
          <p className="small">
            Payments that ended since {formatDay(data.from)}, today so far ({ownZone}). Compared with the seven days
            before, until the same time of day: {formatDay(data.periodBeforeFrom)} – {formatTime(data.periodBeforeTo)}.
          </p>
        </div>
        <Link to="/$environment/$merchantId/analytics" params={{ environment, merchantId }} search={{ range: "7d" }}>
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
          <dt>Approval rate</dt>
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

const dayFormat = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", timeZone: ownZone });
const timeFormat = new Intl.DateTimeFormat(undefined, {
  ...{ day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", timeZone: ownZone },
});
const formatDay = (at: Timestamp | undefined) => at && dayFormat.format(timestampDate(at));
const formatTime = (at: Timestamp | undefined) => at && timeFormat.format(timestampDate(at));

function useWeek() {
  const { merchantId, environment } = useScope();
  const { first: firstDay, last: lastDay } = daysOf({ range: "7d" });
  const { data } = useQuery(AnalyticsService.method.getAnalytics, {
    ...{ merchantId, environment, firstDay, lastDay, timeZone: ownZone },
    ...{ pointLength: PointLength.DAY, withPeriodBefore: true },
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
