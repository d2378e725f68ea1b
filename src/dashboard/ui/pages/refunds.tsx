/** A merchant's refunds: filters in the address, paging on demand and CSV export. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { useInfiniteQuery, useQuery, useTransport } from "@connectrpc/connect-query";
import { keepPreviousData } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { GatewayConnectionService } from "../../../../gen/dashboard/v1/gateway_connections_pb.ts";
import { type Currency, PaymentService } from "../../../../gen/dashboard/v1/payments_pb.ts";
import {
  type ListRefundsResponse,
  type Refund,
  RefundService,
  Refund_Status as Status,
} from "../../../../gen/dashboard/v1/refunds_pb.ts";
import { Amount } from "../parts/amount.tsx";
import { Gateway } from "../parts/brand.tsx";
import { visible } from "../parts/copied-text.tsx";
import { CsvExport } from "../parts/csv-export.tsx";
import { AmountFields, Choice, FilterForm, TextBox } from "../parts/filter-form.tsx";
import { nameOfGateway } from "../parts/gateway-name.ts";
import { inWords, makerOf, RefundState } from "../parts/refund-state.tsx";
import { ShowMore } from "../parts/show-more.tsx";
import { Empty, Failure, Loading } from "../parts/states.tsx";
import { TableScroll } from "../parts/table-scroll.tsx";
import { Moment } from "../parts/time.tsx";
import {
  amountsOf,
  dayBegin,
  dayOf,
  type RefundSearch,
  readRefundSearch,
  refundStates,
  type SearchedAmounts,
} from "../payment-address.ts";
import { useScope } from "../scope.ts";

const rowsAtOnce = 50;

/** The page. */
export function RefundsPage() {
  const { merchantId, environment } = useScope();
  const search: RefundSearch = useSearch({ from: "/signed-in/$environment/$merchantId/refunds" });
  const scope = { merchantId, environment };
  const known = useQuery(PaymentService.method.listCurrencies, scope, { staleTime: Number.POSITIVE_INFINITY });
  const currencies = known.data?.currencies ?? [];
  return (
    <>
      <header className="page-head">
        <div>
          <h1>Refunds</h1>
          <p>To refund a payment, open it from the list of payments.</p>
        </div>
      </header>
      <Presets search={search} />
      <Filters search={search} currencies={currencies} />
      <List search={search} currencies={currencies} currenciesQuery={known} />
    </>
  );
}

const presets = [
  ["All", undefined],
  ["Pending", "pending"],
  ["Succeeded", "succeeded"],
  ["Failed", "failed"],
] as const;

function Presets({ search }: { search: RefundSearch }) {
  const { environmentName: environment, merchantId } = useScope();
  const { status: _, ...rest } = search;
  return (
    <nav className="presets" aria-label="Lists">
      {presets.map(([name, status]) => (
        <Link
          key={name}
          to="/$environment/$merchantId/refunds"
          params={{ environment, merchantId }}
          search={status ? { ...rest, status } : rest}
          activeProps={{}}
          activeOptions={{ exact: true, includeSearch: true, explicitUndefined: true }}
          aria-current={search.status === status ? "page" : undefined}
        >
          {name}
        </Link>
      ))}
    </nav>
  );
}

function Filters({ search, currencies }: { search: RefundSearch; currencies: readonly Currency[] }) {
  const { merchantId, environment, environmentName } = useScope();
  const navigate = useNavigate();
  const { data } = useQuery(GatewayConnectionService.method.listGatewayConnections, { merchantId, environment });
  const gateways = [...new Set((data?.connections ?? []).map(({ gateway }) => gateway))];
  const params = { environment: environmentName, merchantId };
  const go = (wanted: RefundSearch) => navigate({ to: "/$environment/$merchantId/refunds", params, search: wanted });
  const states = refundStates.map((state) => [state, state.charAt(0).toUpperCase() + state.slice(1)] as const);
  return (
    <FilterForm used={search} onApply={(fields) => go(readRefundSearch(fields))} onClear={() => go({})}>
      <Choice label="State" name="status" value={search.status} values={states} />
      <Choice
        label="Gateway"
        name="gateway"
        value={search.gateway}
        values={gateways.map((gateway) => [gateway, nameOfGateway(gateway)])}
      />
      <TextBox label="Whole id or reference" name="reference" value={search.reference} spellCheck={false} />
      <AmountFields {...{ currencies, currency: search.currency, from: search.from, to: search.to }} />
      <TextBox label="Requested on or after" name="after" value={search.after} type="date" max={dayOf(new Date())} />
      <TextBox label="Requested on or before" name="before" value={search.before} type="date" />
      <p className="row soft small">A reference is the gateway’s, your own, or the order’s.</p>
    </FilterForm>
  );
}

function List({
  search,
  currencies,
  currenciesQuery,
}: {
  search: RefundSearch;
  currencies: readonly Currency[];
  currenciesQuery: { readonly error: Error | null; readonly refetch: () => unknown };
}) {
  const { merchantId, environment, environmentName } = useScope();
  const client = createClient(RefundService, useTransport());
  const amounts = amountsOf(search, currencies);
  const filter = filterOf(search, amounts);
  const list = useInfiniteQuery(
    RefundService.method.listRefunds,
    { merchantId, environment, filter, pageSize: rowsAtOnce, pageToken: "" },
    {
      pageParamKey: "pageToken",
      getNextPageParam: ({ nextPageToken }: ListRefundsResponse) => nextPageToken || undefined,
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
  if (!data) return <Loading what="The list of refunds" />;
  const refunds = data.pages.flatMap((page) => page.refunds);
  const last = data.pages.at(-1);
  return (
    <section className="stack" aria-label="Refunds" aria-busy={isPlaceholderData}>
      {refunds.length > 0 && (
        <CsvExport
          file={`refunds-${environmentName}.csv`}
          what="refunds"
          loadPage={async (pageToken, options) => {
            const page = await client.exportRefunds({ merchantId, environment, filter, pageToken }, options);
            return { ...page, rows: page.refunds };
          }}
        />
      )}
      {refunds.length > 0 && <RefundsTable refunds={refunds} />}
      {refunds.length === 0 && !hasNextPage && <NoRefunds isFiltered={Object.keys(search).length > 0} />}
      {hasNextPage && (
        <ShowMore
          {...list}
          pages={data.pages.length}
          hasRows={(last?.refunds.length ?? 0) > 0}
          searchedBackTo={last?.searchedBackTo}
        />
      )}
    </section>
  );
}

function NoRefunds({ isFiltered }: { isFiltered: boolean }) {
  const { environmentName: environment, merchantId } = useScope();
  return isFiltered ? (
    <Empty title="No refund matches the filters">
      <p>Remove a filter, or switch the environment.</p>
    </Empty>
  ) : (
    <Empty title={`No refunds in ${environment} yet`}>
      <p>Refunds appear here, whether your backend, a member or a person at the gateway made them.</p>
      <Link
        to="/$environment/$merchantId/payments"
        params={{ environment, merchantId }}
        search={{ status: "succeeded" }}
      >
        See the payments that succeeded
      </Link>
    </Empty>
  );
}

// The roles are explicit because browsers drop those of a table whose rows are displayed as cards.
/** The table. */
export function RefundsTable({ refunds }: { refunds: readonly Refund[] }) {
  const headings = ["Order reference", "Amount", "State", "Gateway", "Requested by", "Requested"];
  return (
    <TableScroll label="Refunds">
      {/* biome-ignore-start lint/a11y/noRedundantRoles: see above */}
      <table className="payments refunds linked" role="table">
        <thead role="rowgroup">
          <tr role="row">
            {headings.map((name) => (
              <th key={name} scope="col" role="columnheader" className={name === "Amount" ? "number" : undefined}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {refunds.map((refund) => (
            <Row key={refund.refundId} refund={refund} />
          ))}
        </tbody>
      </table>
      {/* biome-ignore-end lint/a11y/noRedundantRoles: see above */}
    </TableScroll>
  );
}

function Row({ refund }: { refund: Refund }) {
  const { environmentName: environment, merchantId } = useScope();
  const { sessionId, orderRef, refundRef, amount, status, failureCode, gateway, gatewayReference, createdAt } = refund;
  return (
    // biome-ignore-start lint/a11y/noRedundantRoles: a browser forgets those of a table whose rows are shown as cards
    // biome-ignore-start lint/a11y/useFocusableInteractive: they are the roles of a plain table
    <tr role="row">
      <th scope="row" role="rowheader">
        <Link to="/$environment/$merchantId/payments/$sessionId" params={{ environment, merchantId, sessionId }}>
          <bdi>{visible(orderRef)}</bdi>
        </Link>
        {refundRef && (
          <div className="soft small">
            <bdi>{visible(refundRef)}</bdi>
          </div>
        )}
      </th>
      <td role="cell" className="number">
        <Amount amount={amount} />
      </td>
      <td role="cell">
        <RefundState status={status} />
        {failureCode && <div className="soft small">{inWords(failureCode)}</div>}
        {refund.needsDecision && <div className="small">needs a person</div>}
      </td>
      <td role="cell">
        <Gateway gateway={gateway} />
        {gatewayReference && (
          <div className="mono soft">
            <bdi>{visible(gatewayReference)}</bdi>
          </div>
        )}
      </td>
      <td role="cell">
        <bdi>{makerOf(refund)}</bdi>
      </td>
      <td role="cell" className="when">
        <Moment at={createdAt} />
      </td>
    </tr>
    // biome-ignore-end lint/a11y/useFocusableInteractive: see above
    // biome-ignore-end lint/a11y/noRedundantRoles: see above
  );
}

const statuses = { pending: Status.PENDING, succeeded: Status.SUCCEEDED, failed: Status.FAILED } as const;

function filterOf(search: RefundSearch, amounts: SearchedAmounts) {
  const { status, gateway, currency, after, before, reference } = search;
  const [createdAfter, createdBefore] = [dayBegin(after), dayBegin(before, 1)];
  return {
    ...(status && { status: statuses[status] }),
    ...(gateway && { gateway }),
    ...(currency && { currency }),
    ...(reference && { reference }),
    ...(amounts.type === "amounts" && amounts.minor),
    ...(createdAfter && { createdAfter: timestampFromDate(createdAfter) }),
    ...(createdBefore && { createdBefore: timestampFromDate(createdBefore) }),
  };
}
