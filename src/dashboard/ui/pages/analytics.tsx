/** Outcomes of payments over time. */
import { useQuery } from "@connectrpc/connect-query";
import { keepPreviousData } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { AnalyticsService, type GetAnalyticsResponse, PointLength } from "../../../../gen/dashboard/v1/analytics_pb.ts";
import { ChartCard } from "../parts/chart-card.tsx";
import { CsvDays } from "../parts/csv-button.tsx";
import { nameOfGateway } from "../parts/gateway-name.ts";
import { NoZone } from "../parts/no-zone.tsx";
import { Empty, Failure, Loading } from "../parts/states.tsx";
import { ownZone } from "../parts/time-zones.ts";
import { useScope } from "../scope.ts";
import { AuthenticationTable } from "./analytics-authentications.tsx";
import { CardTables } from "./analytics-cards.tsx";
import { chartsOf, isLastRunning, pointNames, shortNames, untilNow } from "./analytics-charts.ts";
import { DeclineTable, Figures, GatewayTable, Meanings } from "./analytics-figures.tsx";
import { AnalyticsFilters } from "./analytics-filters.tsx";
import { type DayRange, daysOf, todayIn } from "./analytics-search.ts";
import { Splits } from "./analytics-splits.tsx";
import { BrakingPeriods } from "./braking.tsx";

const lengths = { hour: PointLength.HOUR, day: PointLength.DAY, week: PointLength.WEEK } as const;

/** The page. */
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
      ...{ merchantId, environment, firstDay, lastDay, timeZone: zone, gateway, currency },
      pointLength: points ? lengths[points] : PointLength.UNSPECIFIED,
    },
    { placeholderData: keepPreviousData },
  );
  return (
    <>
      <header className="page-head">
        <div>
          <h1>Analytics</h1>
          <p>
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
            <Results answer={data} zone={zone} gateway={gateway} />
          </CsvDays>
        </div>
      )}
    </>
  );
}

const dayFormat = new Intl.DateTimeFormat(undefined, {
  ...{ day: "numeric", month: "short", year: "numeric", timeZone: "UTC" },
});

/** Returns the days in words. The last one is not over if it is today. */
function inWords({ first, last }: DayRange, zone: string): string {
  const format = (day: string) => dayFormat.format(new Date(day));
  const soFar = last >= todayIn(zone) ? " (so far)" : "";
  return first === last ? `on ${format(last)}${soFar}` : `from ${format(first)} to ${format(last)}${soFar}`;
}

function Results({ answer, zone, gateway }: { answer: GetAnalyticsResponse; zone: string; gateway: string }) {
  const { names, short, charts, isLastPartial } = useMemo(() => {
    const now = new Date();
    const isLastPartial = isLastRunning(answer, now);
    const shown = untilNow(answer, now);
    const names = pointNames(shown, { timeZone: zone, isLastPartial });
    return { names, short: shortNames(shown, zone), charts: chartsOf(shown), isLastPartial };
  }, [answer, zone]);
  const { total, declines } = answer;
  const isEmpty =
    total?.payments === undefined || (total.payments.volumes.length === 0 && total.attempts?.attempts === 0n);
  if (isEmpty || total === undefined) return <NothingYet />;
  return (
    <>
      <Figures total={total} />
      {gateway !== "" && (
        <p className="banner">
          Attempts, authentications and declines are those at {nameOfGateway(gateway)}. Payments are not filtered,
          because a payment can have attempts at several gateways.
        </p>
      )}
      <div className="charts">
        {charts.map((chart) => (
          <ChartCard key={chart.id} {...chart} names={names} shortNames={short} isLastPartial={isLastPartial} />
        ))}
      </div>
      <BrakingPeriods periods={answer.braking} />
      <Splits splits={answer.splits} />
      <GatewayTable total={total} />
      <AuthenticationTable total={total} />
      <CardTables total={total} />
      <DeclineTable declines={declines} />
      <Meanings />
    </>
  );
}

function NothingYet() {
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
      <Meanings />
    </>
  );
}
