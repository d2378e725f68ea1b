/** The ledger of a past day: its totals by gateway and currency, and the file with every entry. */
import { createClient } from "@connectrpc/connect";
import { useQuery, useTransport } from "@connectrpc/connect-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { LedgerService, type LedgerSum, type LedgerTotal } from "../../../../gen/dashboard/v1/ledger_pb.ts";
import { Amount } from "../parts/amount.tsx";
import { Gateway } from "../parts/brand.tsx";
import { Button } from "../parts/button.tsx";
import { CsvExport } from "../parts/csv-export.tsx";
import { TextBox } from "../parts/filter-form.tsx";
import { Empty, Failure, Loading } from "../parts/states.tsx";
import { TableScroll } from "../parts/table-scroll.tsx";
import { useScope } from "../scope.ts";

const dayMs = 86_400_000;

/** Returns a day in UTC, so many days before today. */
const utcDay = (daysBack: number) => new Date(Date.now() - daysBack * dayMs).toISOString().slice(0, 10);

/** The page. */
export function LedgerPage() {
  const { merchantId, environmentName: environment } = useScope();
  const { day = utcDay(1) } = useSearch({ from: "/signed-in/$environment/$merchantId/ledger" });
  const navigate = useNavigate();
  const go = (wanted: string) =>
    navigate({
      to: "/$environment/$merchantId/ledger",
      params: { environment, merchantId },
      search: /^\d{4}-\d{2}-\d{2}$/.test(wanted) ? { day: wanted } : {},
    });
  return (
    <>
      <header className="page-head">
        <div>
          <h1>Ledger</h1>
          <p>
            Every capture, refund and void of a past day in {environment}, as recorded here, to compare with the
            gateways’ statements. A day is a day in UTC.
          </p>
        </div>
      </header>
      <form
        className="row ledger-day"
        key={day}
        onSubmit={(event) => {
          event.preventDefault();
          void go(String(new FormData(event.currentTarget).get("day")));
        }}
      >
        <TextBox label="Day (UTC)" name="day" value={day} type="date" max={utcDay(1)} required />
        <Button kind="main" type="submit">
          Show
        </Button>
      </form>
      <Totals day={day} />
    </>
  );
}

function Totals({ day }: { day: string }) {
  const { merchantId, environment, environmentName } = useScope();
  const client = createClient(LedgerService, useTransport());
  const { data, error, refetch } = useQuery(
    LedgerService.method.getLedgerTotals,
    { merchantId, environment, day },
    { retry: false },
  );
  if (error) return <Failure error={error} onRetry={refetch} />;
  if (!data) return <Loading what="The ledger" />;
  if (data.totals.length === 0)
    return (
      <Empty title={`No money moved on ${day}`}>
        <p>Nothing was captured, refunded or voided on this day in {environmentName}. Choose another day.</p>
      </Empty>
    );
  return (
    <section className="stack" aria-labelledby="totals">
      <div className="page-head">
        <h2 id="totals">Totals of {day}</h2>
        <CsvExport
          file={`ledger-${environmentName}-${day}.csv`}
          what="entries"
          action="Download every entry (CSV)"
          loadPage={async (pageToken, options) => {
            const page = await client.exportLedger({ merchantId, environment, day, pageToken }, options);
            return { ...page, rows: page.entries };
          }}
        />
      </div>
      <TotalsTable totals={data.totals} />
      <p className="soft small">
        The net is what was captured, less refunds and captures that failed later, plus refunds that banks returned. The
        gateways’ fees are not in it. Voided holds never moved money.
      </p>
    </section>
  );
}

const columns = [
  ["Captured", "captured"],
  ["Captures that failed", "captureFailed"],
  ["Refunded", "refunded"],
  ["Refunds that failed", "refundFailed"],
  ["Voided", "voided"],
] as const;

function TotalsTable({ totals }: { totals: readonly LedgerTotal[] }) {
  // What never happened that day has no column.
  const shown = columns.filter(([, field]) => totals.some((total) => total[field]));
  return (
    <TableScroll label="Totals">
      <table className="totals">
        <thead>
          <tr>
            <th scope="col">Gateway</th>
            <th scope="col">Currency</th>
            {shown.map(([name]) => (
              <th key={name} scope="col" className="number">
                {name}
              </th>
            ))}
            <th scope="col" className="number">
              Net
            </th>
          </tr>
        </thead>
        <tbody>
          {totals.map((total) => (
            <tr key={`${total.gateway} ${total.currency}`}>
              <th scope="row">
                <Gateway gateway={total.gateway} />
              </th>
              <td>{total.currency}</td>
              {shown.map(([name, field]) => (
                <td key={name} className="number">
                  <Sum sum={total[field]} />
                </td>
              ))}
              <td className="number">
                <strong>
                  <Amount amount={total.net} />
                </strong>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableScroll>
  );
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
