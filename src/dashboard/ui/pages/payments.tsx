/** A merchant's payments: filters in the address, search, paging on demand and CSV export. */

import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { useInfiniteQuery, useQuery, useTransport } from "@connectrpc/connect-query";
import { keepPreviousData } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { Fragment, useState } from "react";
import { Switch } from "react-aria-components/Switch";
import {
  type Currency,
  type ListPaymentsResponse,
  PaymentMatch_By,
  PaymentService,
} from "../../../../gen/dashboard/v1/payments_pb.ts";
import { PaymentSession_Status } from "../../../../gen/payments/v1/payment_session_pb.ts";
import { Amount } from "../parts/amount.tsx";
import { CsvExport } from "../parts/csv-export.tsx";
import { ShowMore } from "../parts/show-more.tsx";
import { Empty, Failure, Loading } from "../parts/states.tsx";
import { Moment } from "../parts/time.tsx";
import { amountsOf, dayBegin, type PaymentSearch, type SearchedAmounts } from "../payment-address.ts";
import { useScope } from "../scope.ts";
import { Filters, Presets, SearchBox } from "./payments-filters.tsx";
import { PaymentsTable } from "./payments-table.tsx";

// Fast enough to see a payment arrive, slow enough to put no load on the service.
const liveEveryMs = 5_000;
const rowsAtOnce = 50;
// The number that the service counts up to.
const countedMax = 10_000;

/** The page. */
export function PaymentsPage() {
  const { merchantId, environment } = useScope();
  const search: PaymentSearch = useSearch({ from: "/signed-in/$environment/$merchantId/payments" });
  const scope = { merchantId, environment };
  const known = useQuery(PaymentService.method.listCurrencies, scope, { staleTime: Number.POSITIVE_INFINITY });
  const currencies = known.data?.currencies ?? [];
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
          <List search={search} currencies={currencies} currenciesQuery={known} />
        </>
      )}
    </>
  );
}

function List({
  search,
  currencies,
  currenciesQuery,
}: {
  search: PaymentSearch;
  currencies: readonly Currency[];
  currenciesQuery: { readonly error: Error | null; readonly refetch: () => unknown };
}) {
  const { merchantId, environment, environmentName } = useScope();
  const client = createClient(PaymentService, useTransport());
  const [isLive, setLive] = useState(false);
  const amounts = amountsOf(search, currencies);
  const filter = filterOf(search, amounts);
  const list = useInfiniteQuery(
    PaymentService.method.listPayments,
    { merchantId, environment, filter, pageSize: rowsAtOnce, pageToken: "" },
    {
      pageParamKey: "pageToken",
      getNextPageParam: ({ nextPageToken }: ListPaymentsResponse) => nextPageToken || undefined,
      refetchInterval: isLive ? liveEveryMs : false,
      placeholderData: keepPreviousData,
      enabled: amounts.type === "amounts",
    },
  );
  const { data, error, refetch, hasNextPage, isPlaceholderData } = list;
  if (amounts.type === "problem")
    return (
      <Empty title={amounts.title}>
        <p>{amounts.advice}</p>
      </Empty>
    );
  if (amounts.type === "notLoaded" && currenciesQuery.error)
    return <Failure error={currenciesQuery.error} onRetry={currenciesQuery.refetch} />;
  if (error && !data) return <Failure error={error} onRetry={refetch} />;
  if (!data) return <Loading what="The list of payments" />;
  const payments = data.pages.flatMap((page) => page.payments);
  const isFiltered = Object.keys(search).length > 0;
  return (
    <section className="stack" aria-label="Payments" aria-busy={isPlaceholderData}>
      <div className="page-head">
        <Count filter={filter} isLive={isLive} />
        <div className="row">
          <Switch className="toggle" isSelected={isLive} onChange={setLive}>
            <span className="toggle-track" /> Keep up to date
          </Switch>
          {payments.length > 0 && (
            <CsvExport
              file={`payments-${environmentName}.csv`}
              what="payments"
              loadPage={async (pageToken, options) => {
                const page = await client.exportPayments({ merchantId, environment, filter, pageToken }, options);
                return { ...page, rows: page.payments };
              }}
            />
          )}
        </div>
      </div>
      {payments.length > 0 && <PaymentsTable label="Payments" rows={payments.map((payment) => ({ payment }))} />}
      {payments.length === 0 && !hasNextPage && (
        <NoPayments isFiltered={isFiltered} environmentName={environmentName} />
      )}
      {hasNextPage && (
        <ShowMore
          {...list}
          pages={data.pages.length}
          hasRows={(data.pages.at(-1)?.payments.length ?? 0) > 0}
          searchedBackTo={data.pages.at(-1)?.searchedBackTo}
        />
      )}
    </section>
  );
}

/** The number and the amounts of the list, as far back as they are counted. */
function Count({ filter, isLive }: { filter: ReturnType<typeof filterOf>; isLive: boolean }) {
  const { merchantId, environment } = useScope();
  const { data } = useQuery(
    PaymentService.method.countPayments,
    { merchantId, environment, filter },
    { refetchInterval: isLive ? liveEveryMs : false, placeholderData: keepPreviousData },
  );
  if (data === undefined || (data.payments === 0 && !data.countedBackTo)) return null;
  const { payments, amounts, countedBackTo } = data;
  const number = payments.toLocaleString();
  if (countedBackTo && payments >= countedMax)
    return <p className="soft">{number} payments or more. Choose a shorter period to count and sum them.</p>;
  return (
    <p>
      {payments === 1 ? "1 payment" : `${number} payments`}
      {amounts.map((amount) => (
        <Fragment key={amount.currency}>
          {" "}
          <span className="amount">
            · <Amount amount={amount} />
          </span>
        </Fragment>
      ))}
      {countedBackTo && (
        <span className="soft">
          {" "}
          since <Moment at={countedBackTo} />; older ones are not counted
        </span>
      )}
    </p>
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
      {data.matches.some(({ by }) => by === PaymentMatch_By.CARD_LAST4) && (
        <p>
          <Link
            to="/$environment/$merchantId/payments"
            params={{ environment: environmentName, merchantId }}
            search={{ card: text }}
          >
            List every payment whose card ends in {text}
          </Link>
        </p>
      )}
      {data.matches.some(({ by }) => by === PaymentMatch_By.CUSTOMER_EMAIL) && (
        <p>
          <Link
            to="/$environment/$merchantId/payments/customer"
            params={{ environment: environmentName, merchantId }}
            search={{ email: text }}
          >
            See this customer: payments, refunds and totals
          </Link>
        </p>
      )}
      <PaymentsTable label="Search results" rows={rows} />
    </section>
  );
}

// Omits the order reference, which the row itself shows, and the card, which the page names once.
const foundBy: Readonly<Record<number, string>> = {
  [PaymentMatch_By.SESSION_ID]: "by its session id",
  [PaymentMatch_By.ATTEMPT_ID]: "by an attempt’s id",
  [PaymentMatch_By.EVENT_ID]: "by an event’s id",
  [PaymentMatch_By.REQUEST_ID]: "by a request’s id",
  [PaymentMatch_By.GATEWAY_REFERENCE]: "by a gateway’s reference",
  [PaymentMatch_By.CUSTOMER_EMAIL]: "by the customer’s address",
  [PaymentMatch_By.CUSTOMER_NAME]: "by the customer’s name",
  [PaymentMatch_By.AMOUNT]: "by its amount",
};

const statuses: Readonly<Record<string, PaymentSession_Status>> = {
  succeeded: PaymentSession_Status.SUCCEEDED,
  declined: PaymentSession_Status.DECLINED,
  failed: PaymentSession_Status.DEGRADED,
  released: PaymentSession_Status.DECLINED,
  expired: PaymentSession_Status.EXPIRED,
  created: PaymentSession_Status.CREATED,
};

/** Returns the filter of an address. */
function filterOf(search: PaymentSearch, amounts: SearchedAmounts) {
  const { status, gateway, order, card, currency, after, before, failover } = search;
  const [createdAfter, createdBefore] = [dayBegin(after), dayBegin(before, 1)];
  return {
    ...(status === "processing" && { processing: true }),
    ...(status === "held" && { held: true }),
    ...(status === "created" && { processing: false, held: false }),
    ...((status === "declined" || status === "released") && { released: status === "released" }),
    ...(status && statuses[status] && { status: statuses[status] }),
    ...(gateway && { gateway }),
    ...(order && { orderRef: order, orderRefPrefix: true }),
    ...(card && { cardLast4: card }),
    ...(currency && { currency }),
    ...(amounts.type === "amounts" && amounts.minor),
    ...(createdAfter && { createdAfter: timestampFromDate(createdAfter) }),
    ...(createdBefore && { createdBefore: timestampFromDate(createdBefore) }),
    ...(failover && { failover }),
  };
}
