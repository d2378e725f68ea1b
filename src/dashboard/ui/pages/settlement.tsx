/**
 * The movements that no payout has paid yet, by age and reason and each by itself, and the lines that match no payment.
 */
import { createClient } from "@connectrpc/connect";
import { useInfiniteQuery, useQuery, useTransport } from "@connectrpc/connect-query";
import { keepPreviousData } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import type { PaymentAmount } from "../../../../gen/dashboard/v1/payment_amount_pb.ts";
import { type Settlement, SettlementService } from "../../../../gen/dashboard/v1/settlement_pb.ts";
import { LedgerEntry_Type as Type } from "../../../../gen/payments/v1/ledger_pb.ts";
import { PayoutLine_Status, Settlement_State as State } from "../../../../gen/payments/v1/settlement_pb.ts";
import { rangeProblem } from "../ledger-address.ts";
import { Amount } from "../parts/amount.tsx";
import { Gateway } from "../parts/brand.tsx";
import { visible } from "../parts/copied-text.tsx";
import { CsvExport } from "../parts/csv-export.tsx";
import { Choice } from "../parts/filter-form.tsx";
import { dayInWords } from "../parts/numbers.ts";
import { OrderRef } from "../parts/order-ref.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { PagedRows, pages } from "../parts/paged-rows.tsx";
import { type RecordColumn, RecordTable } from "../parts/record-table.tsx";
import {
  ageInWords,
  Badge,
  lineReasonNames,
  nameOfType,
  openReasonNames,
  openWords,
} from "../parts/settlement-words.tsx";
import { Empty } from "../parts/states.tsx";
import { Moment } from "../parts/time.tsx";
import { withChosen } from "../payment-address.ts";
import { ScopeLink, useScope } from "../scope.ts";
import { dayAfter, readSettlementSearch, type SettlementSearch, settlementDays } from "../settlement-address.ts";
import { PayoutLines } from "./payout-lines.tsx";
import { SettlementBar } from "./settlement-bar.tsx";
import { OpenGroups, UnmatchedGroups } from "./settlement-groups.tsx";

const rowsAtOnce = 50;
// A payout comes while the page stays open.
const everyMs = 30_000;

const views = [
  ["Open", undefined],
  ["In the balance", "in_balance"],
  ["Paid out", "paid"],
  ["Unmatched lines", "lines"],
] as const;

export function SettlementPage() {
  const search: SettlementSearch = useSearch({ from: "/signed-in/$environment/$merchantId/settlement" });
  const { show, reason } = search;
  const days = settlementDays(search);
  const problem = rangeProblem(days);
  const before = { from: dayAfter(days.from, -31), to: dayAfter(days.from, -1) };
  const isNow = search.from === undefined && search.to === undefined;
  return (
    <>
      <PageHead title="Settlement">
        Which of your captures, refunds and chargebacks the gateways have settled, and what to do about the others.
        {show !== "lines" && ` Recorded from ${dayInWords(days.from)} to ${dayInWords(days.to)}, days in UTC.`}
      </PageHead>
      <SettlementBar
        search={search}
        chips={views.map(([name, view]) => ({
          name,
          search:
            view === "lines" ? { show: view } : withChosen(search, ["show", "reason"], view ? { show: view } : {}),
          isChosen: show === view,
        }))}
        days={
          show === "lines"
            ? []
            : [
                { name: "Last 31 days", search: withChosen(search, ["from", "to"], {}), isChosen: isNow },
                { name: "31 days earlier", search: withChosen(search, ["from", "to"], before), isChosen: false },
              ]
        }
        happened={show === "lines" ? undefined : "Recorded"}
        kept={show ? { show } : {}}
        read={readSettlementSearch}
      >
        {(show === undefined || show === "lines") && (
          <Choice
            label="Reason"
            name="reason"
            value={reason}
            values={show === "lines" ? lineReasonNames : openReasonNames}
          />
        )}
      </SettlementBar>
      {problem === undefined ? (
        <View search={search} days={days} />
      ) : (
        <Empty title={problem}>
          <p>Choose other days.</p>
        </Empty>
      )}
    </>
  );
}

type Days = { readonly from: string; readonly to: string };
type Props = { readonly search: SettlementSearch; readonly days: Days };

function View({ search, days }: Props) {
  const { merchantId, environment, environmentName } = useScope();
  const { gateway, show, reason } = search;
  const scope = { merchantId, environment, filter: { ...days, ...(gateway && { gateway }) } };
  const { data } = useQuery(SettlementService.method.getSettlementOverview, scope, {
    placeholderData: keepPreviousData,
    refetchInterval: everyMs,
  });
  if (show === "lines")
    return (
      <>
        {data && <UnmatchedGroups overview={data} search={search} />}
        <PayoutLines
          filter={{ status: PayoutLine_Status.UNMATCHED, ...(reason && { reason }) }}
          beside={<h2>Lines</h2>}
          file={`unmatched-lines-${environmentName}.csv`}
          empty={
            <Empty title={reason ? "No line has this reason" : "Every line matches a payment"}>
              <p>Lines of statements that match no payment appear here, each with what to do about it.</p>
            </Empty>
          }
        />
      </>
    );
  return (
    <>
      {data && show === undefined && <OpenGroups overview={data} search={search} />}
      <Movements search={search} days={days} />
    </>
  );
}

const states = { in_balance: State.IN_BALANCE, paid: State.PAID } as const;

function Movements({ search: { show, reason, gateway }, days }: Props) {
  const { merchantId, environment, environmentName } = useScope();
  const client = createClient(SettlementService, useTransport());
  const state = show === "paid" || show === "in_balance" ? states[show] : State.OPEN;
  const filter = { ...days, state, ...(reason && { reason }), ...(gateway && { gateway }) };
  const query = useInfiniteQuery(
    SettlementService.method.listSettlements,
    { merchantId, environment, filter, pageSize: rowsAtOnce, pageToken: "" },
    { ...pages, placeholderData: keepPreviousData },
  );
  return (
    <PagedRows
      label="Movements"
      query={query}
      rowsOf={(page) => page.settlements}
      head={(rows) =>
        rows.length > 0 && (
          <div className="page-head">
            <h2>Movements</h2>
            <CsvExport
              file={`settlement-${environmentName}-${show ?? "open"}-${days.from}-to-${days.to}.csv`}
              what="movements"
              loadPage={async (pageToken, options) => {
                const page = await client.exportSettlements({ merchantId, environment, filter, pageToken }, options);
                return { ...page, rows: page.settlements };
              }}
            />
          </div>
        )
      }
      empty={<NoMovements state={state} isFiltered={reason !== undefined || gateway !== undefined} />}
    >
      {(settlements) => <MovementsTable settlements={settlements} isOpen={state === State.OPEN} />}
    </PagedRows>
  );
}

function NoMovements({ state, isFiltered }: { state: State; isFiltered: boolean }) {
  if (isFiltered)
    return (
      <Empty title="Nothing matches the filters">
        <p>Remove a filter, or choose other days.</p>
      </Empty>
    );
  if (state === State.OPEN)
    return (
      <Empty title="Nothing is open">
        <p>The gateways have listed every payment, refund and chargeback of these days.</p>
      </Empty>
    );
  return (
    <Empty title={state === State.PAID ? "Nothing of these days is paid out yet" : "Nothing is in the balance"}>
      <p>
        {state === State.PAID
          ? "A movement appears here once a payout has it."
          : "What a gateway has listed, and not paid out yet, appears here. At PayPal it stays here: a withdrawal does not name its payments."}
      </p>
    </Empty>
  );
}

const openColumns: readonly RecordColumn[] = [
  { name: "Order reference" },
  { name: "Movement" },
  { name: "Amount", isNumber: true },
  { name: "Gateway" },
  { name: "Reason" },
  { name: "Open for" },
];
const settledColumns: readonly RecordColumn[] = [
  ...openColumns.slice(0, 4),
  { name: "Fee", isNumber: true },
  { name: "Net", isNumber: true },
  { name: "Payout" },
];

/** Returns the amount as it changes what the gateway owes: less by a refund or a chargeback. */
function signed(type: Type, amount: PaymentAmount): PaymentAmount {
  const isLess = type === Type.REFUNDED || type === Type.CHARGEBACK;
  return isLess ? { ...amount, amountMinor: -amount.amountMinor } : amount;
}

function MovementsTable({ settlements, isOpen }: { settlements: readonly Settlement[]; isOpen: boolean }) {
  const rows = settlements.map((settlement) => {
    const { sessionId, orderRef, type, amount, gateway, gatewayReference, recordedAt, reason, ageDays } = settlement;
    return {
      key: `${sessionId} ${type} ${recordedAt?.seconds} ${recordedAt?.nanos}`,
      cells: [
        <ScopeLink key="payment" to="./payments/$sessionId" params={{ sessionId }}>
          <OrderRef orderRef={orderRef} />
        </ScopeLink>,
        nameOfType(type),
        <Amount key="amount" amount={amount && signed(type, amount)} />,
        <>
          <Gateway gateway={gateway} />
          {gatewayReference && <bdi className="soft small line-reference">{visible(gatewayReference)}</bdi>}
        </>,
        ...(isOpen
          ? [
              <Badge key="reason" words={openWords(reason)} />,
              <>
                {ageInWords(ageDays)}
                <span className="soft small line-reference">
                  since <Moment at={recordedAt} />
                </span>
              </>,
            ]
          : [
              <Amount key="fee" amount={settlement.fee} />,
              <Amount key="net" amount={settlement.net} />,
              <OfPayout key="payout" settlement={settlement} />,
            ]),
      ],
    };
  });
  return (
    <RecordTable
      label="Movements"
      columns={isOpen ? openColumns : settledColumns}
      rows={rows}
      className="records statements"
    />
  );
}

function OfPayout({ settlement: { payoutId, payoutReference, arrivesOn } }: { settlement: Settlement }) {
  if (payoutId === "") return <span className="soft">in the balance</span>;
  return (
    <>
      <ScopeLink to="./payouts/$payoutId" params={{ payoutId }}>
        <bdi>{visible(payoutReference)}</bdi>
      </ScopeLink>
      {arrivesOn && <span className="soft small line-reference">{dayInWords(arrivesOn)}</span>}
    </>
  );
}
