/** The ledger of past days: its totals by gateway and currency, and the file with every entry. */
import { useQuery } from "@connectrpc/connect-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { LedgerService, type LedgerSum, type LedgerTotal } from "../../../../gen/dashboard/v1/ledger_pb.ts";
import type { PaymentAmount } from "../../../../gen/dashboard/v1/payment_amount_pb.ts";
import { daysOf, ledgerPresets, rangeProblem, searchOf, utcDay } from "../ledger-address.ts";
import { Amount } from "../parts/amount.tsx";
import { Gateway } from "../parts/brand.tsx";
import { Button } from "../parts/button.tsx";
import { CsvExport } from "../parts/csv-export.tsx";
import { TextBox } from "../parts/filter-form.tsx";
import { dayInWords } from "../parts/numbers.ts";
import { PageHead } from "../parts/page-head.tsx";
import { RecordTable } from "../parts/record-table.tsx";
import { Empty, Failure, Loading } from "../parts/states.tsx";
import { ScopeLink, useScope } from "../scope.ts";
import { useClient } from "../use-client.ts";

type Days = { readonly from: string; readonly to: string };

export function LedgerPage() {
  const { merchantId, environmentName: environment } = useScope();
  const days = daysOf(useSearch({ from: "/signed-in/$environment/$merchantId/ledger" }));
  const navigate = useNavigate();
  const params = { environment, merchantId };
  const problem = rangeProblem(days);
  return (
    <>
      <PageHead title="Ledger">
        Every capture, refund and void of past days in {environment}, as recorded here, to compare with the gateways’
        statements. A day is a day in UTC; a range has at most 31 days.
      </PageHead>
      <nav className="presets" aria-label="Periods">
        {ledgerPresets(new Date()).map(({ name, ...preset }) => (
          <ScopeLink
            key={name}
            to="./ledger"
            search={searchOf(preset)}
            activeProps={{}}
            activeOptions={{ exact: true, includeSearch: true, explicitUndefined: true }}
            aria-current={preset.from === days.from && preset.to === days.to ? "page" : undefined}
          >
            {name}
          </ScopeLink>
        ))}
      </nav>
      <form
        className="row ledger-days"
        key={`${days.from} ${days.to}`}
        onSubmit={(event) => {
          event.preventDefault();
          const { from, to } = Object.fromEntries(new FormData(event.currentTarget));
          const search = searchOf({ from: String(from), to: String(to) });
          void navigate({ to: "/$environment/$merchantId/ledger", params, search });
        }}
      >
        <TextBox label="From (UTC)" name="from" value={days.from} type="date" max={utcDay(1)} required />
        <TextBox label="To, included (UTC)" name="to" value={days.to} type="date" max={utcDay(1)} required />
        <Button kind="main" type="submit">
          Show
        </Button>
      </form>
      {problem === undefined ? (
        <Totals days={days} />
      ) : (
        <Empty title={problem}>
          <p>Choose other days.</p>
        </Empty>
      )}
    </>
  );
}

function Totals({ days }: { days: Days }) {
  const { merchantId, environment, environmentName } = useScope();
  const client = useClient(LedgerService);
  const { data, error, refetch } = useQuery(
    LedgerService.method.getLedgerTotals,
    { merchantId, environment, ...searchOf(days) },
    { retry: false },
  );
  if (error) return <Failure error={error} onRetry={refetch} />;
  if (!data) return <Loading what="The ledger" />;
  const { from, to } = days;
  const file = from === to ? from : `${from}-to-${to}`;
  const [first, last] = [dayInWords(from), dayInWords(to)];
  const name = from === to ? first : `${first} to ${last}`;
  if (data.totals.length === 0)
    return (
      <Empty title={`No money moved ${from === to ? "on" : "from"} ${name}`}>
        <p>Nothing was captured, refunded, voided or charged back then in {environmentName}. Choose other days.</p>
      </Empty>
    );
  return (
    <section className="stack" aria-labelledby="totals">
      <div className="page-head">
        <h2 id="totals">Totals of {name}</h2>
        <CsvExport
          file={`ledger-${environmentName}-${file}.csv`}
          what="entries"
          action="Download every entry (CSV)"
          loadPage={async (pageToken, options) => {
            const page = await client.exportLedger({ merchantId, environment, ...searchOf(days), pageToken }, options);
            return { ...page, rows: page.entries };
          }}
        />
      </div>
      <TotalsTable totals={data.totals} />
      <p className="soft small">
        The net is what was captured, less refunds, chargebacks and captures that failed later, plus refunds and
        chargebacks that came back. The gateways’ fees are not in it. Voided holds never moved money.
      </p>
    </section>
  );
}

const columns = [
  ["Captured", "captured"],
  ["Captures that failed", "captureFailed"],
  ["Refunded", "refunded"],
  ["Refunds that failed", "refundFailed"],
  ["Chargebacks", "chargeback"],
  ["Chargebacks reversed", "chargebackReversed"],
  ["Voided", "voided"],
] as const;

function TotalsTable({ totals }: { totals: readonly LedgerTotal[] }) {
  // A type without an entry on these days has no column.
  const shown = columns.filter(([, field]) => totals.some((total) => total[field]));
  const rows = [...totals, ...sumByCurrency(totals)].map((total) => ({
    key: `${total.gateway} ${total.currency}`,
    cells: [
      total.gateway === "" ? "All gateways" : <Gateway key="gateway" gateway={total.gateway} />,
      total.currency,
      ...shown.map(([name, field]) => <Sum key={name} sum={total[field]} />),
      <strong key="net">
        <Amount amount={total.net} />
      </strong>,
    ],
  }));
  const headings = [
    { name: "Gateway" },
    { name: "Currency" },
    ...[...shown.map(([name]) => name), "Net"].map((name) => ({ name, isNumber: true })),
  ];
  return <RecordTable label="Totals" className="totals" columns={headings} rows={rows} />;
}

type Total = Omit<LedgerTotal, "$typeName" | "$unknown">;

/** Returns the totals of the currencies that several gateways have, each without a gateway. */
function sumByCurrency(totals: readonly LedgerTotal[]): Total[] {
  const currencies = [...Map.groupBy(totals, ({ currency }) => currency)].filter(([, parts]) => parts.length > 1);
  return currencies
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([currency, parts]) => ({
      ...Object.fromEntries(columns.map(([, field]) => [field, addSums(parts.map((part) => part[field]))])),
      gateway: "",
      currency,
      net: addAmounts(parts.map(({ net }) => net)),
    }));
}

function addSums(given: readonly (LedgerSum | undefined)[]): LedgerSum | undefined {
  const sums = given.filter((sum) => sum !== undefined);
  const entries = sums.reduce((count, sum) => count + sum.entries, 0);
  return sums[0] && { ...sums[0], entries, amount: addAmounts(sums.map(({ amount }) => amount)) };
}

function addAmounts(amounts: readonly (PaymentAmount | undefined)[]): PaymentAmount | undefined {
  const [first] = amounts;
  return first && { ...first, amountMinor: amounts.reduce((sum, one) => sum + (one?.amountMinor ?? 0n), 0n) };
}

function Sum({ sum }: { sum: LedgerSum | undefined }) {
  if (sum === undefined) return <span className="soft">–</span>;
  return (
    <>
      <Amount amount={sum.amount} />
      <div className="soft small">{sum.entries === 1 ? "1 entry" : `${sum.entries.toLocaleString()} entries`}</div>
    </>
  );
}
