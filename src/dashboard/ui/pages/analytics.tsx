/** Outcomes of payments over time. */
import { useQuery } from "@connectrpc/connect-query";
import { keepPreviousData } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { lazy, Suspense, useMemo } from "react";
import {
  AnalyticsService,
  type GetAnalyticsResponse,
  PointLength,
  type Volume,
} from "../../../../gen/dashboard/v1/analytics_pb.ts";
import { ChartCard } from "../parts/chart-card.tsx";
import { changeOf } from "../parts/comparison.ts";
import { CsvDays } from "../parts/csv-button.tsx";
import { CurrencyChoice } from "../parts/currency-choice.tsx";
import { nameOfGateway } from "../parts/gateway-name.ts";
import { NoZone } from "../parts/no-zone.tsx";
import { dayInWords, formatMinor } from "../parts/numbers.ts";
import { Empty, Failure, Loading } from "../parts/states.tsx";
import { ownZone } from "../parts/time-zones.ts";
import { useScope } from "../scope.ts";
import { InitiatorTable, WalletTable } from "./analytics-also-by.tsx";
import { AuthenticationTable } from "./analytics-authentications.tsx";
import { CardTables } from "./analytics-cards.tsx";
import {
  busiest,
  capturedChart,
  chartsOf,
  isLastRunning,
  pointNames,
  shortNames,
  untilNow,
} from "./analytics-charts.ts";
import { DeclineTable, Figures, GatewayTable, Meanings } from "./analytics-figures.tsx";
import { AnalyticsFilters } from "./analytics-filters.tsx";
import { type DayRange, daysOf, todayIn } from "./analytics-search.ts";
import { Splits } from "./analytics-splits.tsx";
import { BrakingPeriods } from "./braking.tsx";

const Costs = lazy(() => import("./analytics-costs.tsx"));

const lengths = { hour: PointLength.HOUR, day: PointLength.DAY, week: PointLength.WEEK } as const;

export function AnalyticsPage() {
  const { merchantId, environment, environmentName } = useScope();
  const search = useSearch({ from: "/signed-in/$environment/$merchantId/analytics" });
  const navigate = useNavigate({ from: "/$environment/$merchantId/analytics" });
  const days = daysOf(search);
  const { first: firstDay, last: lastDay } = days;
  const { zone = ownZone, points, gateway = "", currency = "" } = search;
  const { data, error, refetch, isPlaceholderData } = useQuery(
    AnalyticsService.method.getAnalytics,
    {
      merchantId,
      environment,
      firstDay,
      lastDay,
      timeZone: zone,
      gateway,
      currency,
      pointLength: points ? lengths[points] : PointLength.UNSPECIFIED,
      withPeriodBefore: search.first === undefined,
      withInitiators: search.by === "initiator",
      withWallets: search.by === "wallet",
    },
    { placeholderData: keepPreviousData },
  );
  return (
    <>
      <header className="page-head">
        <div>
          <h1>Analytics</h1>
          <p className="days">
            Payments in {environmentName} that ended {inWords(days, zone)}. Days begin and end in {zone}.
          </p>
          {search.zone === undefined && <NoZone />}
        </div>
      </header>
      <AnalyticsFilters
        search={search}
        known={data}
        onChange={(change) => void navigate({ search: (before) => ({ ...before, ...change }) as typeof search })}
      />
      {error && <Failure error={error} onRetry={refetch} />}
      {!data && !error && <Loading what="Analytics" />}
      {data && !error && (
        <div className="analytics" aria-busy={isPlaceholderData}>
          <CsvDays value={`${firstDay}_${lastDay}`}>
            <Results
              answer={data}
              days={days}
              zone={zone}
              gateway={gateway}
              money={currency || search.money}
              onMoney={(money) => void navigate({ search: (before) => ({ ...before, money }), resetScroll: false })}
            />
          </CsvDays>
        </div>
      )}
    </>
  );
}

/** Returns the days in words. The last one is not over if it is today. */
function inWords({ first, last }: DayRange, zone: string): string {
  const soFar = last >= todayIn(zone) ? " (so far)" : "";
  return first === last ? `on ${dayInWords(last)}${soFar}` : `from ${dayInWords(first)} to ${dayInWords(last)}${soFar}`;
}

function Results(props: {
  answer: GetAnalyticsResponse;
  days: DayRange;
  zone: string;
  gateway: string;
  money: string | undefined;
  onMoney: (currency: string) => void;
}) {
  const { answer, days, zone, gateway, money, onMoney } = props;
  const { shown, points, charts } = useMemo(() => {
    const now = new Date();
    const isLastPartial = isLastRunning(answer, now);
    const shown = untilNow(answer, now);
    const names = pointNames(shown, { timeZone: zone, isLastPartial });
    return { shown, points: { names, shortNames: shortNames(shown, zone), isLastPartial }, charts: chartsOf(shown) };
  }, [answer, zone]);
  const { total, declines, periodBefore } = answer;
  if (total?.payments === undefined) return <NothingYet splits={answer.splits} />;
  const { volumes } = total.payments;
  if (volumes.length === 0 && total.attempts?.attempts === 0n) return <NothingYet splits={answer.splits} />;
  const volume = volumes.find(({ currency }) => currency === money) ?? busiest(volumes);
  return (
    <>
      <Figures total={total} before={periodBefore} />
      {gateway !== "" && (
        <p className="banner">
          Attempts, authentications and declines are those at {nameOfGateway(gateway)}. Payments are not filtered,
          because a payment can have attempts at several gateways.
        </p>
      )}
      <div className="charts">
        {volume && <Captured answer={shown} points={points} volume={volume} onMoney={onMoney} />}
        {charts.map((chart) => (
          <ChartCard key={chart.id} {...chart} {...points} />
        ))}
      </div>
      <BrakingPeriods periods={answer.braking} />
      <div className="card folds">
        <Splits splits={answer.splits} />
        <GatewayTable total={total} />
        <Suspense>
          <Costs firstDay={days.first} lastDay={days.last} gateway={gateway} />
        </Suspense>
        <DeclineTable declines={declines} />
        <AuthenticationTable total={total} />
        <CardTables total={total} />
        <InitiatorTable rows={answer.initiators} />
        <WalletTable rows={answer.wallets} />
        <Meanings />
      </div>
    </>
  );
}

/** Money captured in one currency, beside the period before: the wide chart. */
function Captured(props: {
  answer: GetAnalyticsResponse;
  points: { names: string[]; shortNames: string[]; isLastPartial: boolean };
  volume: Volume;
  onMoney: (currency: string) => void;
}) {
  const { answer, points, volume, onMoney } = props;
  const { currency, capturedMinor } = volume;
  const volumes = answer.total?.payments?.volumes ?? [];
  const { periodBefore } = answer;
  const before = periodBefore?.volumes.find((each) => each.currency === currency)?.capturedMinor ?? 0n;
  const chart = useMemo(() => capturedChart(answer, volume), [answer, volume]);
  return (
    <ChartCard {...chart} {...points} isWide>
      <strong>{formatMinor(capturedMinor, volume)}</strong>
      {periodBefore && <span className="soft small">{changeOf(capturedMinor, before)}</span>}
      {volumes.length > 1 && (
        <CurrencyChoice currencies={volumes.map((each) => each.currency)} value={currency} onChange={onMoney} />
      )}
    </ChartCard>
  );
}

function NothingYet({ splits }: Pick<GetAnalyticsResponse, "splits">) {
  const { environmentName } = useScope();
  return (
    <>
      <Empty title="No payments ended in this period">
        <p>A payment is counted when its outcome is final. Choose another period, or make a first payment.</p>
        {environmentName === "test" && (
          <p>
            In a demo, <code>npm start -- --state .switchyard/week --demo-traffic</code> makes a week of payments.
          </p>
        )}
      </Empty>
      <div className="card folds">
        <Splits splits={splits} />
        <Meanings />
      </div>
    </>
  );
}
