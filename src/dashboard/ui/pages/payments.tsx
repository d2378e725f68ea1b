/** A merchant's payments: filters in the address, search, paging on demand and CSV export. */

import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { useInfiniteQuery, useQuery } from "@connectrpc/connect-query";
import { type InfiniteData, keepPreviousData, type UseInfiniteQueryResult } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { Switch } from "react-aria-components";
import {
  type Currency,
  type ListPaymentsResponse,
  PaymentMatch_By,
  PaymentService,
} from "../../../../gen/dashboard/v1/payments_pb.ts";
import { PaymentSession_Status } from "../../../../gen/payments/v1/payment_session_pb.ts";
import { Button } from "../parts/button.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { Empty, Failure, Loading } from "../parts/states.tsx";
import { Moment } from "../parts/time.tsx";
import { dayBegin, minorOf, type PaymentSearch } from "../payment-address.ts";
import { useScope } from "../scope.ts";
import { PaymentsExport } from "./payments-export.tsx";
import { Filters, Presets, SearchBox } from "./payments-filters.tsx";
import { PaymentsTable } from "./payments-table.tsx";

// Fast enough to see a payment arrive, slow enough to put no load on the service.
const liveEveryMs = 5_000;
const rowsAtOnce = 50;

type PaymentList = Pick<
  UseInfiniteQueryResult<InfiniteData<ListPaymentsResponse>>,
  "data" | "fetchNextPage" | "hasNextPage" | "isFetchingNextPage" | "error"
>;

/** The page. */
export function PaymentsPage() {
  const { merchantId, environment } = useScope();
  const search: PaymentSearch = useSearch({ from: "/signed-in/$environment/$merchantId/payments" });
  const scope = { merchantId, environment };
  const { data } = useQuery(PaymentService.method.listCurrencies, scope, { staleTime: Number.POSITIVE_INFINITY });
  const currencies = data?.currencies ?? [];
  return (
    <>
      <header className="page-head">
        <h1>Payments</h1>
        <SearchBox search={search} />
      </header>
      {search.q !== undefined ? (
        <Found text={search.q} />
      ) : (
        <>
          <Presets search={search} />
          <Filters search={search} currencies={currencies} />
          <List search={search} currencies={currencies} />
        </>
      )}
    </>
  );
}

function List({ search, currencies }: { search: PaymentSearch; currencies: readonly Currency[] }) {
  const { merchantId, environment, environmentName } = useScope();
  const [isLive, setLive] = useState(false);
  const filter = filterOf(search, currencies);
  const list = useInfiniteQuery(
    PaymentService.method.listPayments,
    { merchantId, environment, filter, pageSize: rowsAtOnce, pageToken: "" },
    {
      pageParamKey: "pageToken",
      getNextPageParam: ({ nextPageToken }: ListPaymentsResponse) => nextPageToken || undefined,
      refetchInterval: isLive ? liveEveryMs : false,
      placeholderData: keepPreviousData,
    },
  );
  const { data, error, refetch, hasNextPage, isPlaceholderData } = list;
  const unread = [search.from, search.to].find(
    (amount) => amount !== undefined && minorOf(amount, exponentOf(search, currencies)) === undefined,
  );
  if (unread !== undefined)
    return (
      <Empty title={`${search.currency ?? "Money"} has fewer decimals than ${unread}`}>
        <p>Enter an amount with fewer decimals.</p>
      </Empty>
    );
  if (error && !data) return <Failure error={error} onRetry={refetch} />;
  if (!data) return <Loading what="The list of payments" />;
  const payments = data.pages.flatMap((page) => page.payments);
  const isFiltered = Object.keys(search).length > 0;
  return (
    <section className="stack" aria-label="Payments" aria-busy={isPlaceholderData}>
      <div className="page-head">
        <Switch className="toggle" isSelected={isLive} onChange={setLive}>
          <span className="toggle-track" /> Keep up to date
        </Switch>
        {payments.length > 0 && <PaymentsExport filter={filter} />}
      </div>
      {payments.length > 0 && <PaymentsTable label="Payments" rows={payments.map((payment) => ({ payment }))} />}
      {payments.length === 0 && !hasNextPage && (
        <NoPayments isFiltered={isFiltered} environmentName={environmentName} />
      )}
      {hasNextPage && <Further list={list} />}
    </section>
  );
}

/** Loads another page; if a scan returned nothing, continues until it finds a payment or the person stops it. */
function Further({ list }: { list: PaymentList }) {
  const { data, error, fetchNextPage, hasNextPage, isFetchingNextPage } = list;
  // The number of pages when more were requested.
  const [pagesBefore, setPagesBefore] = useState<number>();
  const pages = data?.pages.length ?? 0;
  const { payments = [], searchedBackTo } = data?.pages.at(-1) ?? {};
  const isOver = !hasNextPage || payments.length > 0 || searchedBackTo === undefined;
  useEffect(() => {
    if (pagesBefore === undefined || isFetchingNextPage) return;
    if (error || (pages > pagesBefore && isOver)) setPagesBefore(undefined);
    else void fetchNextPage();
  }, [pagesBefore, pages, error, isFetchingNextPage, isOver, fetchNextPage]);
  const loadMore = () => {
    setPagesBefore(pages);
    void fetchNextPage();
  };
  const isLooking = pagesBefore !== undefined && searchedBackTo !== undefined;
  return (
    <div className="row">
      {isLooking ? (
        <Button onPress={() => setPagesBefore(undefined)}>Stop looking</Button>
      ) : (
        <Button onPress={loadMore} isPending={isFetchingNextPage}>
          {searchedBackTo ? "Look further back" : "Show more"}
        </Button>
      )}
      {searchedBackTo && (
        <span className="soft" role="status">
          Nothing more since <Moment at={searchedBackTo} />
          {isLooking && "; looking further back…"}
        </span>
      )}
      <Refusal error={error} />
    </div>
  );
}

function NoPayments({ isFiltered, environmentName }: { isFiltered: boolean; environmentName: string }) {
  return isFiltered ? (
    <Empty title="No payment matches the filters">
      <p>Remove a filter, or switch the environment.</p>
    </Empty>
  ) : (
    <Empty title={`No payments in ${environmentName} yet`}>
      <p>Payments appear here as soon as your backend creates a session.</p>
    </Empty>
  );
}

function Found({ text }: { text: string }) {
  const { merchantId, environment, environmentName } = useScope();
  const { data, error, refetch } = useQuery(PaymentService.method.searchPayments, { merchantId, environment, text });
  if (error) return <Failure error={error} onRetry={refetch} />;
  if (!data) return <Loading what="The search" />;
  if (data.matches.length === 0) {
    return (
      <Empty title="No results">
        <p>No match in {environmentName}. Check the reference, or switch the environment.</p>
      </Empty>
    );
  }
  const rows = data.matches.flatMap(({ payment, by }) =>
    payment ? [{ payment, note: foundBy[by] && <div className="soft small">{foundBy[by]}</div> }] : [],
  );
  return (
    <section className="stack" aria-label="Search results">
      <p className="soft" role="status">
        {rows.length === 1 ? "1 payment" : `${rows.length} payments`} found
      </p>
      <PaymentsTable label="Search results" rows={rows} />
    </section>
  );
}

// Omits the order reference, which the row itself shows.
const foundBy: Readonly<Record<number, string>> = {
  [PaymentMatch_By.SESSION_ID]: "by its session id",
  [PaymentMatch_By.ATTEMPT_ID]: "by an attempt’s id",
  [PaymentMatch_By.EVENT_ID]: "by an event’s id",
  [PaymentMatch_By.REQUEST_ID]: "by a request’s id",
  [PaymentMatch_By.GATEWAY_REFERENCE]: "by a gateway’s reference",
};

const statuses: Readonly<Record<string, PaymentSession_Status>> = {
  succeeded: PaymentSession_Status.SUCCEEDED,
  declined: PaymentSession_Status.DECLINED,
  degraded: PaymentSession_Status.DEGRADED,
  expired: PaymentSession_Status.EXPIRED,
  created: PaymentSession_Status.CREATED,
};

function exponentOf({ currency }: PaymentSearch, currencies: readonly Currency[]): number {
  return currencies.find(({ code }) => code === currency)?.exponent ?? 2;
}

/** Returns the filter of an address. Amounts have two decimals until a currency is chosen, as most currencies do. */
function filterOf(search: PaymentSearch, currencies: readonly Currency[]) {
  const { status, gateway, order, currency, from, to, after, before, failover } = search;
  const exponent = exponentOf(search, currencies);
  const [amountFrom, amountTo] = [minorOf(from, exponent), minorOf(to, exponent)];
  const [createdAfter, createdBefore] = [dayBegin(after), dayBegin(before, 1)];
  return {
    ...(status === "processing" && { processing: true }),
    ...(status === "created" && { processing: false }),
    ...(status && statuses[status] && { status: statuses[status] }),
    ...(gateway && { gateway }),
    ...(order && { orderRef: order, orderRefPrefix: true }),
    ...(currency && { currency }),
    ...(amountFrom !== undefined && { amountFrom }),
    ...(amountTo !== undefined && { amountTo }),
    ...(createdAfter && { createdAfter: timestampFromDate(createdAfter) }),
    ...(createdBefore && { createdBefore: timestampFromDate(createdBefore) }),
    ...(failover && { failover }),
  };
}
