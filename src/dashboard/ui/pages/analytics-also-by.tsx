/** Payments of the range by who made them, and by wallet: each a table with its CSV file. */
import type { InitiatorCounts, WalletCounts } from "../../../../gen/dashboard/v1/analytics_pb.ts";
import { Initiator } from "../../../../gen/payments/v1/payment_session_pb.ts";
import { walletNames } from "../parts/brand.tsx";
import { Fold } from "../parts/fold.tsx";
import { formatCount, formatRate } from "../parts/numbers.ts";
import { endedOf } from "../parts/outcomes.ts";
import { RecordTable } from "../parts/record-table.tsx";
import { Share } from "../parts/share.tsx";

const initiators: Readonly<Record<number, string>> = {
  [Initiator.CUSTOMER]: "Customer",
  [Initiator.MERCHANT]: "You, by an agreement",
};
const headings = ["Payments", "Approval rate", "Succeeded", "Released", "Declined", "Failed", "Saved by failover"];

/** Shows the table; nothing unless it was requested. */
export function InitiatorTable({ rows }: { rows: readonly InitiatorCounts[] }) {
  const named = rows.map((counts) => ({ name: initiators[counts.initiator] ?? "", counts, more: [] }));
  return <PartTable id="initiators" title="Who made them" heading="Made by" rows={named} />;
}

/** Shows the table; nothing unless it was requested. A card has no cryptogram that could be sent twice. */
export function WalletTable({ rows }: { rows: readonly WalletCounts[] }) {
  const named = rows.map((counts) => ({
    name: counts.wallet === "" ? "Card" : (walletNames[counts.wallet] ?? "Unknown wallet"),
    counts,
    more: counts.wallet === "" ? [undefined, undefined] : [counts.resendsApproved, counts.resendsRefused],
  }));
  const more = ["Cryptogram sent again: approved", "Declined again"];
  return <PartTable id="wallets" title="Wallets" heading="Paid by" rows={named} more={more} />;
}

type Part = {
  readonly name: string;
  readonly counts: Pick<
    WalletCounts,
    "succeeded" | "released" | "declined" | "degraded" | "savedByFailover" | "approvalRate"
  >;
  readonly more: readonly (bigint | undefined)[];
};

/** Outcomes by parts of all payments. `note` says what the parts are. */
export function PartTable(props: {
  id: string;
  title: string;
  heading: string;
  rows: readonly Part[];
  more?: readonly string[];
  note?: string;
  isOpen?: boolean;
}) {
  const { id, title, heading, rows, more = [], note, isOpen = true } = props;
  if (rows.length === 0) return null;
  const all = rows.reduce((sum, { counts }) => sum + endedOf(counts), 0n);
  const countsOf = ({ counts, more: own }: Part) => {
    const { succeeded, released, declined, degraded, savedByFailover } = counts;
    return [succeeded, released, declined, degraded, savedByFailover, ...own];
  };
  const csv = () => [
    [heading, ...headings, ...more],
    ...rows.map((row) => [
      row.name,
      Number(endedOf(row.counts)),
      row.counts.approvalRate ?? "",
      ...countsOf(row).map((count) => (count === undefined ? "" : Number(count))),
    ]),
  ];
  return (
    <Fold id={id} title={title} about={`${formatCount(all)} payments`} rows={csv} isOpen={isOpen}>
      {note && <p className="soft small">{note}</p>}
      <RecordTable
        label={title}
        className="counts"
        columns={[heading, ...headings, ...more, "Share"].map((name) => ({ name }))}
        rows={rows.map((row) => ({
          key: row.name,
          cells: [
            row.name,
            formatCount(endedOf(row.counts)),
            formatRate(row.counts.approvalRate),
            ...countsOf(row).map((count) => (count === undefined ? "–" : formatCount(count))),
            <Share key="share" part={Number(endedOf(row.counts))} of={Number(all)} />,
          ],
        }))}
      />
    </Fold>
  );
}
