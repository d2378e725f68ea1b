/** A merchant's payments: filters in the address, search, paging on demand and CSV export. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { useInfiniteQuery, useQuery } from "@connectrpc/connect-query";
import { keepPreviousData } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { Fragment, useState } from "react";
import { Switch } from "react-aria-components/Switch";
import { type PaymentFilterSchema, PaymentMatch_By, PaymentService } from "../../../../gen/dashboard/v1/payments_pb.ts";
import { Dispute_Status, PaymentSession_Status } from "../../../../gen/payments/v1/payment_session_pb.ts";
import { formatAmount } from "../parts/amount.tsx";
import { visible } from "../parts/copied-text.tsx";
import { CsvExport } from "../parts/csv-export.tsx";
import { Choice, TextBox } from "../parts/filter-form.tsx";
import { PagedRows, pages } from "../parts/paged-rows.tsx";
import { Empty, Failure, Loading } from "../parts/states.tsx";
import { Moment } from "../parts/time.tsx";
import { disputeStates, type PaymentSearch, paymentStates, readPaymentSearch } from "../payment-address.ts";
import { ScopeLink, useScope } from "../scope.ts";
import { useClient } from "../use-client.ts";
import { type Chip, ListBar, useMoneyFilter } from "./list-bar.tsx";
import { SearchBox } from "./payment-search.tsx";
import { PaymentsTable } from "./payments-table.tsx";

// Fast enough to see a payment arrive, slow enough to put no load on the service.
const liveEveryMs = 5_000;
const rowsAtOnce = 50;
// The number that the service counts up to.
const countedMax = 10_000;

const chips: readonly Chip<PaymentSearch>[] = [
  ["All", {}],
  ["Succeeded", { status: "succeeded" }],
  ["Declined", { status: "declined" }],
  ["Failed", { status: "failed" }],
  ["Processing", { status: "processing" }],
  ["Held", { status: "held" }],
  ["Released", { status: "released" }],
  ["Disputed", { dispute: "any" }],
  ["Saved by failover", { failover: true }],
];

export function PaymentsPage() {
  const search: PaymentSearch = useSearch({ from: "/signed-in/$environment/$merchantId/payments" });
  return (
    <>
      <header className="page-head">
        <h1>Payments</h1>
        <SearchBox search={search} />
      </header>
      {search.q === undefined ? <Listed search={search} /> : <Found text={search.q} />}
    </>
  );
}

function Listed({ search }: { search: PaymentSearch }) {
  const { merchantId, environment, environmentName } = useScope();
  const client = useClient(PaymentService);
  const [isLive, setLive] = useState(false);
  const { currencies, filter: shared, isReady, problem } = useMoneyFilter(search);
  const filter = { ...shared, ...ownFilterOf(search) };
  const query = useInfiniteQuery(
    PaymentService.method.listPayments,
    { merchantId, environment, filter, pageSize: rowsAtOnce, pageToken: "" },
    {
      ...pages,
      refetchInterval: isLive ? liveEveryMs : false,
      placeholderData: keepPreviousData,
      enabled: isReady,
    },
  );
  return (
    <>
      <ListBar
        search={search}
        chips={chips}
        currencies={currencies}
        states={paymentStates}
        happened="Created"
        read={(fields) => readPaymentSearch({ ...fields, failover: fields.failover === "on" })}
      >
        <TextBox label="Order begins with" name="order" value={search.order} />
        <TextBox
          label="Card ends in"
          name="card"
          value={search.card}
          inputMode="numeric"
          pattern="\d{4}"
          maxLength={4}
          title="The last four digits of the card"
        />
        <Choice
          label="Dispute"
          name="dispute"
          value={search.dispute}
          values={disputeStates.map((state) => [state, nameOfState(state)])}
        />
        <label className="tick">
          <input type="checkbox" name="failover" defaultChecked={search.failover ?? false} /> Saved by failover
        </label>
      </ListBar>
      {problem ?? (
        <PagedRows
          label="Payments"
          query={query}
          rowsOf={(page) => page.payments}
          head={(rows) => (
            <div className="page-head">
              <Count search={search} filter={filter} isLive={isLive} />
              <div className="row">
                <Switch className="toggle" isSelected={isLive} onChange={setLive}>
                  <span className="toggle-track" /> Keep up to date
                </Switch>
                {rows.length > 0 && (
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
          )}
          empty={<NoPayments isFiltered={Object.keys(search).length > 0} environmentName={environmentName} />}
        >
          {(rows) => <PaymentsTable label="Payments" rows={rows.map((payment) => ({ payment }))} />}
        </PagedRows>
      )}
    </>
  );
}

type Filter = MessageInitShape<typeof PaymentFilterSchema>;

// The lists of which captured money is the sum: in the others, of what customers ordered, most was never captured.
const capturedLists: readonly PaymentSearch["status"][] = [undefined, "succeeded"];

/** The number and the money of the list, as far back as they are counted. */
function Count({ search, filter, isLive }: { search: PaymentSearch; filter: Filter; isLive: boolean }) {
  const { merchantId, environment } = useScope();
  const { data } = useQuery(
    PaymentService.method.countPayments,
    { merchantId, environment, filter },
    { refetchInterval: isLive ? liveEveryMs : false, placeholderData: keepPreviousData },
  );
  if (data === undefined || (data.payments === 0 && !data.countedBackTo)) return null;
  const { payments, countedBackTo } = data;
  const isCaptured = capturedLists.includes(search.status);
  const sums = isCaptured ? data.captured : data.amounts;
  const number = payments.toLocaleString();
  if (countedBackTo && payments >= countedMax)
    return <p className="soft">{number} payments or more. Choose a shorter period to count and sum them.</p>;
  return (
    <p>
      {[payments === 1 ? "1 payment" : `${number} payments`, ...sums.map((amount) => formatAmount(amount))].map(
        (part, index) => (
          <Fragment key={part}>
            {index > 0 && " "}
            <span className="amount">
              {part}
              {index < sums.length && " ·"}
            </span>
          </Fragment>
        ),
      )}
      {isCaptured && sums.length > 0 && " captured"}
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
  if (data.matches.length === 0 && !data.customerRef) {
    return (
      <Empty title="No results">
        <p>No match in {environmentName}. Check the reference, or switch the environment.</p>
      </Empty>
    );
  }
  const rows = data.matches.flatMap(({ payment, by }) => (payment ? [{ payment, note: foundBy[by] }] : []));
  return (
    <section className="stack" aria-label="Search results">
      <p className="soft" role="status">
        {rows.length === 1 ? "1 payment" : `${rows.length} payments`} found
      </p>
      {data.matches.some(({ by }) => by === PaymentMatch_By.CARD_LAST4) && (
        <p>
          <ScopeLink to="./payments" search={{ card: text }}>
            List every payment whose card ends in {text}
          </ScopeLink>
        </p>
      )}
      {data.matches.some(({ by }) => by === PaymentMatch_By.CUSTOMER_EMAIL) && (
        <p>
          <ScopeLink to="./payments/customer" search={{ email: text }}>
            See this customer: payments, refunds and totals
          </ScopeLink>
        </p>
      )}
      {data.customerRef && (
        <p>
          <ScopeLink to="./payments/customer" search={{ customer: data.customerRef }}>
            See the customer <bdi>{visible(data.customerRef)}</bdi>: stored cards, agreements, payments and refunds
          </ScopeLink>
        </p>
      )}
      {rows.length > 0 && <PaymentsTable label="Search results" rows={rows} />}
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
  [PaymentMatch_By.CUSTOMER_REF]: "by its customer",
};

const statuses: Readonly<Record<string, PaymentSession_Status>> = {
  succeeded: PaymentSession_Status.SUCCEEDED,
  declined: PaymentSession_Status.DECLINED,
  failed: PaymentSession_Status.DEGRADED,
  released: PaymentSession_Status.DECLINED,
  expired: PaymentSession_Status.EXPIRED,
  created: PaymentSession_Status.CREATED,
};

const disputeStatuses: Readonly<Record<string, Dispute_Status>> = {
  needs_response: Dispute_Status.NEEDS_RESPONSE,
  under_review: Dispute_Status.UNDER_REVIEW,
  won: Dispute_Status.WON,
  lost: Dispute_Status.LOST,
  accepted: Dispute_Status.ACCEPTED,
  closed: Dispute_Status.CLOSED,
};

function nameOfState(state: string): string {
  return state === "any" ? "Disputed" : state.charAt(0).toUpperCase() + state.slice(1).replaceAll("_", " ");
}

function ownFilterOf({ status, order, card, failover, dispute }: PaymentSearch) {
  return {
    ...(status === "processing" && { processing: true }),
    ...(status === "held" && { held: true }),
    ...(status === "created" && { processing: false, held: false }),
    ...((status === "declined" || status === "released") && { released: status === "released" }),
    ...(status && statuses[status] && { status: statuses[status] }),
    ...(order && { orderRef: order, orderRefPrefix: true }),
    ...(card && { cardLast4: card }),
    ...(failover && { failover }),
    ...(dispute && { disputed: true }),
    ...(dispute && disputeStatuses[dispute] && { disputeStatus: disputeStatuses[dispute] }),
  };
}
