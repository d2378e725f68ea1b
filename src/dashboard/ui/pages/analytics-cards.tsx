/** Payments of the range by the facts of their cards: a table with its CSV file for brands, and one for countries. */
import type { AnalyticsPoint, CardCounts } from "../../../../gen/dashboard/v1/analytics_pb.ts";
import { PartTable } from "./analytics-also-by.tsx";
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

const sources = {
  cardBrands: "By the brand that the vault or the gateway names.",
  issuingCountries:
    "By the card ranges of your routing cases. Published test numbers have a range of ours, and are cards of the United States.",
} as const;

function CardTable({ by, rows }: { by: keyof typeof titles; rows: readonly CardCounts[] }) {
  const [title, heading, id] = titles[by];
  const named = rows.map((counts) => ({ name: cardNames[by](counts.value), counts, more: [] }));
  const note = `${sources[by]} Other cards count as Unknown.`;
  return <PartTable id={id} title={title} heading={heading} rows={named} note={note} isOpen={false} />;
}
