/** Payments of the range by what is known of their cards: a table with its CSV file for brands, and one for countries. */
import type { AnalyticsPoint, CardCounts } from "../../../../gen/dashboard/v1/analytics_pb.ts";
import { Button } from "../parts/button.tsx";
import { csvOf, saveFile } from "../parts/csv.ts";
import { formatCount, formatRate } from "../parts/numbers.ts";
import { Share } from "../parts/share.tsx";
import { TableScroll } from "../parts/table-scroll.tsx";
import { cardNames } from "./analytics-charts.ts";

const titles = {
  cardBrands: ["Card brands", "Card brand", "card-brands"],
  issuingCountries: ["Issuing countries", "Issuing country", "issuing-countries"],
} as const;

/** The tables; none where nothing is known of any card. */
export function CardTables({ total }: { total: AnalyticsPoint }) {
  const isKnown = (rows: readonly CardCounts[]) => rows.some(({ value }) => value !== "");
  return (
    <>
      {isKnown(total.cardBrands) && <CardTable by="cardBrands" rows={total.cardBrands} />}
      {isKnown(total.issuingCountries) && <CardTable by="issuingCountries" rows={total.issuingCountries} />}
    </>
  );
}

const paymentsOf = ({ succeeded, declined, degraded }: CardCounts) => succeeded + declined + degraded;

function CardTable({ by, rows }: { by: keyof typeof titles; rows: readonly CardCounts[] }) {
  const [title, heading, id] = titles[by];
  const all = rows.reduce((sum, row) => sum + paymentsOf(row), 0n);
  const headings = ["Payments", "Approved", "Succeeded", "Declined", "Degraded", "Saved by failover"];
  const download = () => {
    const lines = rows.map((row) => [
      ...[cardNames[by](row.value), Number(paymentsOf(row)), row.approvalRate ?? ""],
      ...[row.succeeded, row.declined, row.degraded, row.savedByFailover].map(Number),
    ]);
    saveFile(csvOf([[heading, ...headings], ...lines]), `${id}.csv`);
  };
  return (
    <section className="card" aria-labelledby={id}>
      <div className="chart-head">
        <div>
          <h2 id={id}>{title}</h2>
          <p className="soft small">
            {formatCount(all)} payments
            {by === "issuingCountries" && ", by the card ranges of your routing cases"}. A card without a known{" "}
            {heading.toLowerCase()} counts as Unknown.
          </p>
        </div>
        <Button onPress={download} aria-label={`${title} as a CSV file`}>
          CSV
        </Button>
      </div>
      <TableScroll label={title}>
        <table className="counts">
          <thead>
            <tr>
              {[heading, ...headings, "Share"].map((each) => (
                <th scope="col" key={each}>
                  {each}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.value}>
                <th scope="row">{cardNames[by](row.value)}</th>
                <td>{formatCount(paymentsOf(row))}</td>
                <td>{formatRate(row.approvalRate)}</td>
                <td>{formatCount(row.succeeded)}</td>
                <td>{formatCount(row.declined)}</td>
                <td>{formatCount(row.degraded)}</td>
                <td>{formatCount(row.savedByFailover)}</td>
                <td>
                  <Share part={Number(paymentsOf(row))} of={Number(all)} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableScroll>
    </section>
  );
}
