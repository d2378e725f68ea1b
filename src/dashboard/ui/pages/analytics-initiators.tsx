/** Payments of the range by who made them: a table with its CSV file. */
import type { InitiatorCounts } from "../../../../gen/dashboard/v1/analytics_pb.ts";
import { Initiator } from "../../../../gen/payments/v1/payment_session_pb.ts";
import { Fold } from "../parts/fold.tsx";
import { formatCount, formatRate } from "../parts/numbers.ts";
import { endedOf } from "../parts/outcomes.ts";
import { RecordTable } from "../parts/record-table.tsx";
import { Share } from "../parts/share.tsx";

const names: Readonly<Record<number, string>> = {
  [Initiator.CUSTOMER]: "Customer",
  [Initiator.MERCHANT]: "You, by an agreement",
};
const headings = ["Payments", "Approval rate", "Succeeded", "Released", "Declined", "Failed", "Saved by failover"];

/** The table; nothing unless it was asked for. */
export function InitiatorTable({ rows }: { rows: readonly InitiatorCounts[] }) {
  if (rows.length === 0) return null;
  const all = rows.reduce((sum, row) => sum + endedOf(row), 0n);
  const nameOf = ({ initiator }: InitiatorCounts) => names[initiator] ?? "";
  const countsOf = ({ succeeded, released, declined, degraded, savedByFailover }: InitiatorCounts) => [
    ...[succeeded, released, declined, degraded, savedByFailover],
  ];
  const csv = () => [
    ["Made by", ...headings],
    ...rows.map((row) => [nameOf(row), Number(endedOf(row)), row.approvalRate ?? "", ...countsOf(row).map(Number)]),
  ];
  return (
    <Fold id="initiators" title="Who made them" about={`${formatCount(all)} payments`} rows={csv} isOpen>
      <RecordTable
        label="Who made them"
        className="counts"
        columns={["Made by", ...headings, "Share"].map((name) => ({ name }))}
        rows={rows.map((row) => ({
          key: String(row.initiator),
          cells: [
            nameOf(row),
            formatCount(endedOf(row)),
            formatRate(row.approvalRate),
            ...countsOf(row).map(formatCount),
            <Share key="share" part={Number(endedOf(row))} of={Number(all)} />,
          ],
        }))}
      />
    </Fold>
  );
}
