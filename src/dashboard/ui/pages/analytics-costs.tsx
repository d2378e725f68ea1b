/**
 * The gateways' fees for the payments of whole months, by gateway and currency; nothing before a statement was matched.
 */
import { useQuery } from "@connectrpc/connect-query";
import { type GetCostsResponse_Cost as Cost, SettlementService } from "../../../../gen/dashboard/v1/settlement_pb.ts";
import { formatAmount } from "../parts/amount.tsx";
import { Fold } from "../parts/fold.tsx";
import { nameOfGateway } from "../parts/gateway-name.ts";
import { decimalOf } from "../parts/minor-units.ts";
import { formatCount } from "../parts/numbers.ts";
import { RecordTable } from "../parts/record-table.tsx";
import { useScope } from "../scope.ts";

// A fee of 1.45 % is not one of 1.5 %.
const percent = new Intl.NumberFormat(undefined, {
  style: "percent",
  minimumFractionDigits: 2,
  maximumFractionDigits: 2,
});

const amounts = [
  ["Settled gross", "settledGross"],
  ["Cost", "fee"],
  ["Dispute fees", "disputeFee"],
  ["Account fees", "accountFee"],
] as const;

export default function Costs({ firstDay, lastDay, gateway }: { firstDay: string; lastDay: string; gateway: string }) {
  const { merchantId, environment } = useScope();
  const { data } = useQuery(SettlementService.method.getCosts, { merchantId, environment, firstDay, lastDay, gateway });
  if (!data || data.costs.length === 0) return null;
  const rateOf = ({ rate }: Cost) => (rate === undefined ? "–" : percent.format(rate));
  const heading = ["Gateway", "Currency", "Payments", "Effective rate", ...amounts.map(([name]) => name)];
  const rows = () => [
    heading,
    ...data.costs.map((cost) => [
      nameOfGateway(cost.gateway),
      cost.fee?.currency ?? "",
      cost.payments,
      cost.rate ?? "",
      ...amounts.map(([, field]) => (cost[field] ? Number(decimalOf(cost[field])) : "")),
    ]),
  ];
  return (
    <Fold id="costs" title="Costs" about="what the gateways keep, by gateway" rows={rows}>
      <RecordTable
        label="Costs"
        className="counts"
        columns={heading.map((name) => ({ name }))}
        rows={data.costs.map((cost) => ({
          key: `${cost.gateway} ${cost.fee?.currency}`,
          cells: [
            nameOfGateway(cost.gateway),
            cost.fee?.currency,
            formatCount(cost.payments),
            rateOf(cost),
            ...amounts.map(([, field]) => cost[field] && formatAmount(cost[field])),
          ],
        }))}
      />
      <p className="soft small">
        From the lines of the gateways’ statements, in the currency of the payout. The months of the period are counted
        whole. The effective rate is the cost of payments and refunds divided by the settled gross; fees of disputes and
        of the account are apart.
      </p>
    </Fold>
  );
}
