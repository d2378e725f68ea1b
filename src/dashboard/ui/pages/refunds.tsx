/** A merchant's refunds: filters in the address, paging on demand and CSV export. */
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { keepPreviousData } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { type Refund, RefundService, Refund_Status as Status } from "../../../../gen/dashboard/v1/refunds_pb.ts";
import { Amount } from "../parts/amount.tsx";
import { Gateway } from "../parts/brand.tsx";
import { visible } from "../parts/copied-text.tsx";
import { CsvExport } from "../parts/csv-export.tsx";
import { TextBox } from "../parts/filter-form.tsx";
import { OrderRef } from "../parts/order-ref.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { PagedRows, pages } from "../parts/paged-rows.tsx";
import { type RecordColumn, RecordTable } from "../parts/record-table.tsx";
import { inWords, makerOf, RefundState } from "../parts/refund-state.tsx";
import { Empty } from "../parts/states.tsx";
import { Moment } from "../parts/time.tsx";
import { type RefundSearch, readRefundSearch, refundStates } from "../payment-address.ts";
import { ScopeLink, useScope } from "../scope.ts";
import { useClient } from "../use-client.ts";
import { type Chip, ListBar, useMoneyFilter } from "./list-bar.tsx";

const rowsAtOnce = 50;

const chips: readonly Chip<RefundSearch>[] = [
  ["All", {}],
  ["Pending", { status: "pending" }],
  ["Succeeded", { status: "succeeded" }],
  ["Failed", { status: "failed" }],
];

export function RefundsPage() {
  const { merchantId, environment, environmentName } = useScope();
  const search: RefundSearch = useSearch({ from: "/signed-in/$environment/$merchantId/refunds" });
  const client = useClient(RefundService);
  const { currencies, filter: shared, isReady, problem } = useMoneyFilter(search);
  const { status, reference } = search;
  const filter = { ...shared, ...(status && { status: statuses[status] }), ...(reference && { reference }) };
  const query = useInfiniteQuery(
    RefundService.method.listRefunds,
    { merchantId, environment, filter, pageSize: rowsAtOnce, pageToken: "" },
    { ...pages, placeholderData: keepPreviousData, enabled: isReady },
  );
  const hasRows = query.data?.pages.some((page) => page.refunds.length > 0);
  return (
    <>
      <PageHead
        title="Refunds"
        actions={
          hasRows &&
          problem === undefined && (
            <CsvExport
              file={`refunds-${environmentName}.csv`}
              what="refunds"
              loadPage={async (pageToken, options) => {
                const page = await client.exportRefunds({ merchantId, environment, filter, pageToken }, options);
                return { ...page, rows: page.refunds };
              }}
            />
          )
        }
      >
        To refund a payment, open it from the list of payments.
      </PageHead>
      <ListBar
        search={search}
        chips={chips}
        currencies={currencies}
        states={refundStates}
        happened="Requested"
        read={readRefundSearch}
      >
        <TextBox
          label="Whole id or reference"
          name="reference"
          value={reference}
          spellCheck={false}
          title="A refund’s id, or a reference: the gateway’s, your own, or the order’s"
        />
      </ListBar>
      {problem ?? (
        <PagedRows
          label="Refunds"
          query={query}
          rowsOf={(page) => page.refunds}
          empty={<NoRefunds isFiltered={Object.keys(search).length > 0} />}
        >
          {(refunds) => <RefundsTable refunds={refunds} />}
        </PagedRows>
      )}
    </>
  );
}

function NoRefunds({ isFiltered }: { isFiltered: boolean }) {
  const { environmentName: environment } = useScope();
  return isFiltered ? (
    <Empty title="No refund matches the filters">
      <p>Remove a filter, or switch the environment.</p>
    </Empty>
  ) : (
    <Empty title={`No refunds in ${environment} yet`}>
      <p>Refunds appear here, whether your backend, a member or a person at the gateway made them.</p>
      <ScopeLink to="./payments" search={{ status: "succeeded" }}>
        See the payments that succeeded
      </ScopeLink>
    </Empty>
  );
}

const columns: readonly RecordColumn[] = [
  { name: "Order reference" },
  { name: "Amount", isNumber: true },
  { name: "State" },
  { name: "Gateway" },
  { name: "Requested by" },
  { name: "Requested" },
];

export function RefundsTable({ refunds }: { refunds: readonly Refund[] }) {
  const rows = refunds.map((refund) => {
    const { sessionId, orderRef, refundRef, amount, gateway, gatewayReference } = refund;
    return {
      key: refund.refundId,
      cells: [
        <>
          <ScopeLink to="./payments/$sessionId" params={{ sessionId }}>
            <OrderRef orderRef={orderRef} />
          </ScopeLink>
          {refundRef && <bdi className="soft small beside">{visible(refundRef)}</bdi>}
        </>,
        <Amount key="amount" amount={amount} />,
        <>
          <RefundState status={refund.status} />
          {refund.failureCode && <span className="soft small beside">{inWords(refund.failureCode)}</span>}
          {refund.needsDecision && <span className="small beside">needs a person</span>}
        </>,
        <>
          <Gateway gateway={gateway} />
          {gatewayReference && <bdi className="mono soft beside">{visible(gatewayReference)}</bdi>}
        </>,
        <bdi key="maker">{makerOf(refund)}</bdi>,
        <Moment key="at" at={refund.createdAt} />,
      ],
    };
  });
  return <RecordTable label="Refunds" columns={columns} rows={rows} className="records lines linked refunds" />;
}

const statuses = { pending: Status.PENDING, succeeded: Status.SUCCEEDED, failed: Status.FAILED } as const;
