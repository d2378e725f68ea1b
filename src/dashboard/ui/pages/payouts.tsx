/** The gateways' payouts: filters in the address, paging on demand and CSV export. */
import { createClient } from "@connectrpc/connect";
import { useInfiniteQuery, useTransport } from "@connectrpc/connect-query";
import { keepPreviousData } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { type Payout, SettlementService } from "../../../../gen/dashboard/v1/settlement_pb.ts";
import { Amount } from "../parts/amount.tsx";
import { Gateway } from "../parts/brand.tsx";
import { visible } from "../parts/copied-text.tsx";
import { CsvExport } from "../parts/csv-export.tsx";
import { dayInWords } from "../parts/numbers.ts";
import { PageHead } from "../parts/page-head.tsx";
import { PagedRows, pages } from "../parts/paged-rows.tsx";
import { type RecordColumn, RecordTable } from "../parts/record-table.tsx";
import { PayoutState } from "../parts/settlement-words.tsx";
import { Empty } from "../parts/states.tsx";
import { withChosen } from "../payment-address.ts";
import { ScopeLink, useScope } from "../scope.ts";
import { type PayoutSearch, readPayoutSearch } from "../settlement-address.ts";
import { SettlementBar } from "./settlement-bar.tsx";

const rowsAtOnce = 50;

export function PayoutsPage() {
  const { merchantId, environment, environmentName } = useScope();
  const search: PayoutSearch = useSearch({ from: "/signed-in/$environment/$merchantId/payouts" });
  const client = createClient(SettlementService, useTransport());
  const { remainder, ...rest } = search;
  const filter = { ...rest, ...(remainder && { withRemainder: true }) };
  const query = useInfiniteQuery(
    SettlementService.method.listPayouts,
    { merchantId, environment, filter, pageSize: rowsAtOnce, pageToken: "" },
    { ...pages, placeholderData: keepPreviousData },
  );
  const hasRows = query.data?.pages.some((page) => page.payouts.length > 0);
  return (
    <>
      <PageHead
        title="Payouts"
        actions={
          hasRows && (
            <CsvExport
              file={`payouts-${environmentName}.csv`}
              what="payouts"
              loadPage={async (pageToken, options) => {
                const page = await client.exportPayouts({ merchantId, environment, filter, pageToken }, options);
                return { ...page, rows: page.payouts };
              }}
            />
          )
        }
      >
        What your gateways sent to your bank account, from their own statements. The remainder is the part that the
        lines of a statement do not explain. What is not paid out yet is on the page{" "}
        <ScopeLink to="./settlement">Settlement</ScopeLink>.
      </PageHead>
      <SettlementBar
        search={search}
        chips={[
          { name: "All", search: withChosen(search, ["remainder"], {}), isChosen: !remainder },
          {
            name: "Not adding up",
            search: withChosen(search, ["remainder"], { remainder: true }),
            isChosen: remainder === true,
          },
        ]}
        happened="Arrives"
        kept={remainder ? { remainder } : {}}
        read={readPayoutSearch}
      />
      <PagedRows label="Payouts" query={query} rowsOf={(page) => page.payouts} empty={<NoPayouts search={search} />}>
        {(payouts) => <PayoutsTable payouts={payouts} />}
      </PagedRows>
    </>
  );
}

function NoPayouts({ search }: { search: PayoutSearch }) {
  const { environmentName } = useScope();
  if (search.remainder && Object.keys(search).length === 1)
    return (
      <Empty title="Every payout adds up">
        <p>The lines of each complete payout explain its whole amount.</p>
      </Empty>
    );
  return Object.keys(search).length > 0 ? (
    <Empty title="No payout matches the filters">
      <p>Remove a filter, or switch the environment.</p>
    </Empty>
  ) : (
    <Empty title={`No payouts in ${environmentName} yet`}>
      <p>
        A payout appears here once its gateway has sent it and its statement is read. If one is missing, verify the
        gateway’s credentials: the row “settlement” names what keeps its statements from being read.
      </p>
      <ScopeLink to="./gateways">See the gateways</ScopeLink>
    </Empty>
  );
}

const columns: readonly RecordColumn[] = [
  { name: "Payout" },
  { name: "Gateway" },
  { name: "Amount", isNumber: true },
  { name: "State" },
  { name: "Arrives" },
  { name: "Lines" },
  { name: "Remainder", isNumber: true },
];

function PayoutsTable({ payouts }: { payouts: readonly Payout[] }) {
  const rows = payouts.map((payout) => {
    const { payoutId, gatewayReference, gateway, status, arrivesOn } = payout;
    return {
      key: payoutId,
      cells: [
        <ScopeLink key="payout" to="./payouts/$payoutId" params={{ payoutId }}>
          <bdi className="order-ref">{visible(gatewayReference)}</bdi>
        </ScopeLink>,
        <Gateway key="gateway" gateway={gateway} />,
        <Amount key="amount" amount={payout.amount} />,
        <PayoutState key="status" status={status} />,
        <span key="arrives">{arrivesOn ? dayInWords(arrivesOn) : "–"}</span>,
        <Lines key="lines" payout={payout} />,
        <Remainder key="remainder" payout={payout} />,
      ],
    };
  });
  return <RecordTable label="Payouts" columns={columns} rows={rows} className="records linked payouts" />;
}

function Lines({ payout }: { payout: Payout }) {
  const { matched, unmatched, account, linesCut } = payout;
  if (linesCut) return <>more than 10,000</>;
  if (matched + unmatched + account === 0) return <span className="soft">not known yet</span>;
  return (
    <>
      {matched.toLocaleString()} matched
      {unmatched > 0 && (
        <>
          , <strong>{unmatched.toLocaleString()} unmatched</strong>
        </>
      )}
    </>
  );
}

/** The part of a payout's amount that its lines do not explain; nothing before all of them are known. */
export function Remainder({ payout: { remainder } }: { payout: Payout }) {
  if (remainder === undefined) return <span className="soft">not complete</span>;
  if (remainder.amountMinor === 0n) return <Amount amount={remainder} />;
  return (
    <strong>
      <Amount amount={remainder} />
    </strong>
  );
}
