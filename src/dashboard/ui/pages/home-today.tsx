/** Today's payments, and their money by the hour beside that of the same weekday before. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { useQuery } from "@connectrpc/connect-query";
import { type ReactNode, useMemo, useState } from "react";
import { AnalyticsService, type GetAnalyticsResponse, PointLength } from "../../../../gen/dashboard/v1/analytics_pb.ts";
import { ChartCard, type ChartData } from "../parts/chart-card.tsx";
import { CsvDays } from "../parts/csv-button.tsx";
import { CurrencyChoice } from "../parts/currency-choice.tsx";
import { meaningLooks } from "../parts/line-look.ts";
import { decimalOf } from "../parts/minor-units.ts";
import { formatCount, formatMinor, formatRate } from "../parts/numbers.ts";
import { approvedOf, endedOf } from "../parts/outcomes.ts";
import { ownZone } from "../parts/time-zones.ts";
import type { PaymentSearch } from "../payment-address.ts";
import { ScopeLink, useScope } from "../scope.ts";
import { busiest, moneyFormats, untilNow } from "./analytics-charts.ts";
import { daysBefore, todayIn } from "./analytics-search.ts";

/** The card; nothing where neither day has a payment. */
export function Today({ everyMs }: { everyMs: number }) {
  const day = todayIn(ownZone);
  const [now, before] = [useDay(day, everyMs), useDay(daysBefore(day, 7))];
  const [today, lastWeek] = [now?.total?.payments, before?.total?.payments];
  if (!now || !before || !today || !lastWeek || endedOf(today) + endedOf(lastWeek) === 0n) return null;
  const ended = endedOf(today);
  return (
    <section className="stack" aria-labelledby="today">
      <div className="page-head">
        <h2 id="today">Today</h2>
        <ScopeLink to="./analytics" search={{ range: "7d" }}>
          See the analytics
        </ScopeLink>
      </div>
      <CsvDays value={day}>
        <Money now={now} before={before} />
      </CsvDays>
      <dl className="tiles">
        <Figure name="Payments" value={formatCount(ended)} list={{}}>
          {formatCount(today.succeeded)} succeeded
        </Figure>
        <Figure name="Approval rate" value={formatRate(today.approvalRate)}>
          {formatCount(approvedOf(today))} of {formatCount(ended)}
          {today.released > 0n && `, ${formatCount(today.released)} released`}
          {lastWeek.approvalRate !== undefined && `; ${formatRate(lastWeek.approvalRate)} ${weekdayBefore()}`}
        </Figure>
        <Figure name="Saved by failover" value={formatCount(today.savedByFailover)} list={{ failover: true }}>
          captured by another gateway than the first
        </Figure>
      </dl>
    </section>
  );
}

function useDay(day: string, everyMs?: number): GetAnalyticsResponse | undefined {
  const { merchantId, environment } = useScope();
  const { data } = useQuery(
    AnalyticsService.method.getAnalytics,
    {
      merchantId,
      environment,
      firstDay: day,
      lastDay: day,
      timeZone: ownZone,
      pointLength: PointLength.HOUR,
    },
    { refetchInterval: everyMs ?? false },
  );
  return data;
}

const weekday = new Intl.DateTimeFormat(undefined, { weekday: "long", timeZone: ownZone });
const hour = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", timeZone: ownZone });

const weekdayBefore = () => `last ${weekday.format(new Date())}`;

/** The money of both days, in one currency, as it adds up. */
function Money({ now, before }: { now: GetAnalyticsResponse; before: GetAnalyticsResponse }) {
  const [chosen, setChosen] = useState<string>();
  const [today, lastWeek] = [now, before].map((day) => day.total?.payments?.volumes ?? []) as [Volumes, Volumes];
  const volumes = [...new Map([...lastWeek, ...today].map((volume) => [volume.currency, volume])).values()];
  const volume = volumes.find(({ currency }) => currency === chosen) ?? busiest(volumes);
  const drawn = useMemo(() => volume && chartOf(now, before, volume), [now, before, volume]);
  if (!volume || !drawn) return null;
  const captured = today.find(({ currency }) => currency === volume.currency)?.capturedMinor ?? 0n;
  return (
    <ChartCard {...drawn} isWide>
      <strong>{formatMinor(captured, volume)}</strong>
      {volumes.length > 1 && (
        <CurrencyChoice
          currencies={volumes.map(({ currency }) => currency).toSorted()}
          value={volume.currency}
          onChange={setChosen}
        />
      )}
    </ChartCard>
  );
}

type Volumes = NonNullable<NonNullable<GetAnalyticsResponse["total"]>["payments"]>["volumes"];

function chartOf(now: GetAnalyticsResponse, before: GetAnalyticsResponse, volume: Volumes[number]) {
  const { currency, decimals } = volume;
  const addUp = ({ points }: GetAnalyticsResponse) => {
    let sum = 0n;
    return points.map(({ payments }) => {
      sum += payments?.volumes.find((each) => each.currency === currency)?.capturedMinor ?? 0n;
      return sum;
    });
  };
  const [sums, sumsBefore] = [addUp(untilNow(now, new Date())), addUp(before)];
  const full = sums.length - 1;
  const over = (full > 0 && sumsBefore[full - 1]) || undefined;
  const points = now.points.length > before.points.length ? now.points : before.points;
  const ends = points.map(({ startsAt }) => hour.format(timestampDate(startsAt!).getTime() + 3_600_000));
  const values = (minor: readonly bigint[]) =>
    minor.map((amountMinor) => Number(decimalOf({ amountMinor, exponent: decimals })));
  const chart: ChartData = {
    id: `today-${currency}`,
    title: `Captured in ${currency}`,
    caption:
      over === undefined
        ? `As it adds up, beside ${weekdayBefore()} (${ownZone}).`
        : `As it adds up. ${formatMinor(over, volume)} by ${ends[full - 1]} ${weekdayBefore()} (${ownZone}).`,
    lines: [
      { name: "Today", look: meaningLooks.succeeded, values: values(sums) },
      { name: `Last ${weekday.format(new Date())}`, look: meaningLooks.released, values: values(sumsBefore) },
    ],
    ...moneyFormats(volume),
  };
  return { ...chart, names: ends.map((end) => `Until ${end}`), shortNames: ends };
}

/** A figure of today; `list` are the filters of its payments, if it counts some. */
function Figure(props: { name: string; value: string; list?: PaymentSearch; children?: ReactNode }) {
  const { name, value, list, children } = props;
  return (
    <div>
      <dt>
        {list ? (
          <ScopeLink to="./payments" search={{ ...list, after: todayIn(ownZone) }}>
            {name}
          </ScopeLink>
        ) : (
          name
        )}
      </dt>
      <dd className="value">{value}</dd>
      <dd className="soft small">{children}</dd>
    </div>
  );
}
