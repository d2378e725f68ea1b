/** Payments of the range by the facts of their cards: a table with its CSV file for brands, and one for countries. */
import type { AnalyticsPoint, CardCounts } from "../../../../gen/dashboard/v1/analytics_pb.ts";
import { Fold } from "../parts/fold.tsx";
import { formatCount, formatRate } from "../parts/numbers.ts";
import { endedOf } from "../parts/outcomes.ts";
import { RecordTable } from "../parts/record-table.tsx";
import { Share } from "../parts/share.tsx";
import { cardNames } from "./analytics-charts.ts";

const titles = {
  cardBrands: ["Card brands", "Card brand", "card-brands"],
  issuingCountries: ["Issuing countries", "Issuing country", "issuing-countries"],
} as const;

/** Shows the tables; none if no card is known. */
export function CardTables({ total }: { total: AnalyticsPoint }) {
  const isKnown = (rows: readonly CardCounts[]) => rows.some(({ value }) => value !== "");
  return (
    <>
      {isKnown(total.cardBrands) && <CardTable by="cardBrands" rows={total.cardBrands} />}
      {isKnown(total.issuingCountries) && <CardTable by="issuingCountries" rows={total.issuingCountries} />}
    </>
  );
}

// The source of each property of cards.
const sources = {
  cardBrands: "By the brand that the vault or the gateway names.",
  issuingCountries:
    "By the card ranges of your routing cases. Published test numbers have a range of ours, and are cards of the United States.",
} as const;

function CardTable({ by, rows }: { by: keyof typeof titles; rows: readonly CardCounts[] }) {
  const [title, heading, id] = titles[by];
  const all = rows.reduce((sum, row) => sum + endedOf(row), 0n);
  const headings = ["Payments", "Approval rate", "Succeeded", "Released", "Declined", "Failed", "Saved by failover"];
  const csv = () => [
    [heading, ...headings],
    ...rows.map((row) => [
      ...[cardNames[by](row.value), Number(endedOf(row)), row.approvalRate ?? ""],
      ...[row.succeeded, row.released, row.declined, row.degraded, row.savedByFailover].map(Number),
    ]),
  ];
  return (
    <Fold id={id} title={title} about={`${formatCount(all)} payments`} rows={csv}>
      <p className="soft small">{sources[by]} Other cards count as Unknown.</p>
      <RecordTable
        label={title}
        className="counts"
        columns={[heading, ...headings, "Share"].map((name) => ({ name }))}
        rows={rows.map((row) => ({
          key: row.value,
          cells: [
            cardNames[by](row.value),
            formatCount(endedOf(row)),
            formatRate(row.approvalRate),
            ...[row.succeeded, row.released, row.declined, row.degraded, row.savedByFailover].map(formatCount),
            <Share key="share" part={Number(endedOf(row))} of={Number(all)} />,
          ],
        }))}
      />
    </Fold>
  );
}
