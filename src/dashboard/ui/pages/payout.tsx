/** A payout: the sum of its lines, and each line. */
import { useQuery } from "@connectrpc/connect-query";
import { useParams, useSearch } from "@tanstack/react-router";
import { type GetPayoutResponse, SettlementService } from "../../../../gen/dashboard/v1/settlement_pb.ts";
import { PayoutLine_Status as Status } from "../../../../gen/payments/v1/settlement_pb.ts";
import { Amount, formatAmount } from "../parts/amount.tsx";
import { CopiedText } from "../parts/copied-text.tsx";
import { nameOfGateway } from "../parts/gateway-name.ts";
import { dayInWords } from "../parts/numbers.ts";
import { RecordTable } from "../parts/record-table.tsx";
import { nameOfKind, PayoutState } from "../parts/settlement-words.tsx";
import { Empty, Failure, Loading } from "../parts/states.tsx";
import { Moment } from "../parts/time.tsx";
import { codeOf } from "../rpc.ts";
import { ScopeLink, useScope } from "../scope.ts";
import { type LineSearch, lineStates } from "../settlement-address.ts";
import { ChipLink } from "./list-bar.tsx";
import { PayoutLines } from "./payout-lines.tsx";

export function PayoutPage() {
  const { merchantId, environment, environmentName } = useScope();
  const { payoutId } = useParams({ from: "/signed-in/$environment/$merchantId/payouts/$payoutId" });
  const { data, error, refetch } = useQuery(
    SettlementService.method.getPayout,
    { merchantId, environment, payoutId },
    { retry: false },
  );
  return (
    <>
      <nav aria-label="Back">
        <ScopeLink to="./payouts">Payouts</ScopeLink>
      </nav>
      {error && codeOf(error) === "not_found" && (
        <>
          <h1>Payout</h1>
          <Empty title={`Payout not found in ${environmentName}`}>
            <p>It may be in the other environment, or belong to another merchant.</p>
          </Empty>
        </>
      )}
      {error && codeOf(error) !== "not_found" && !data && <Failure error={error} onRetry={refetch} />}
      {!data && !error && <Loading what="The payout" />}
      {data && <Details data={data} />}
    </>
  );
}

const statuses = { matched: Status.MATCHED, unmatched: Status.UNMATCHED, account: Status.ACCOUNT } as const;
const names = { matched: "Matched", unmatched: "Unmatched", account: "Account" } as const;

function Details({ data: { payout, totals } }: { data: GetPayoutResponse }) {
  const search: LineSearch = useSearch({ from: "/signed-in/$environment/$merchantId/payouts/$payoutId" });
  const { environmentName } = useScope();
  if (payout?.amount === undefined) return null;
  const { payoutId, gateway, gatewayReference, arrivesOn, completeAt, remainder } = payout;
  const filter = { payoutId, ...(search.status && { status: statuses[search.status] }) };
  return (
    <>
      <header className="page-head">
        <div>
          <h1>
            {formatAmount(payout.amount)} <PayoutState status={payout.status} />
          </h1>
          <p>
            {nameOfGateway(gateway)}
            {arrivesOn && ` · arrives ${dayInWords(arrivesOn)}`}
          </p>
          <p>
            <CopiedText label="the gateway’s reference of the payout" text={gatewayReference} />
          </p>
        </div>
      </header>
      {remainder && remainder.amountMinor !== 0n && (
        <p className="banner" data-tone="warn">
          The lines do not explain {formatAmount(remainder)} of this payout. Ask {nameOfGateway(gateway)} what it is.
        </p>
      )}
      {totals.length > 0 && (
        <section className="stack" aria-labelledby="sums">
          <h2 id="sums">What it adds up to</h2>
          <Sums payout={payout} totals={totals} />
          {completeAt ? (
            <p className="soft small">
              All lines have been known since <Moment at={completeAt} />. Their amounts no longer change.
            </p>
          ) : (
            <p className="soft small">The gateway has not listed all lines of this payout yet.</p>
          )}
        </section>
      )}
      <div className="stack">
        <h2>Lines</h2>
        <PayoutLines
          filter={filter}
          beside={
            <nav className="presets" aria-label="Lines to show">
              <ChipLink name="All" search={{}} isChosen={search.status === undefined} />
              {lineStates.map((status) => (
                <ChipLink key={status} name={names[status]} search={{ status }} isChosen={search.status === status} />
              ))}
            </nav>
          }
          file={`payout-${environmentName}-${payoutId}.csv`}
          empty={
            search.status ? (
              <Empty title={`No ${names[search.status].toLowerCase()} lines`}>
                <p>Choose other lines.</p>
              </Empty>
            ) : (
              <Empty title="No lines yet">
                <p>
                  {nameOfGateway(gateway)} has not listed what this payout is made of. A withdrawal that was made by
                  hand has no lines.
                </p>
              </Empty>
            )
          }
        />
      </div>
    </>
  );
}

function Sums({ payout, totals }: Pick<GetPayoutResponse, "payout" | "totals">) {
  const rows = [
    ...totals.map(({ kind, lines, gross, fee, net }) => ({
      key: String(kind),
      cells: [
        nameOfKind(kind),
        lines.toLocaleString(),
        <Amount key="gross" amount={gross} />,
        <Amount key="fee" amount={fee} />,
        <Amount key="net" amount={net} />,
      ],
    })),
    ...(payout?.remainder
      ? [{ key: "rest", cells: ["Remainder", "–", "–", "–", <Amount key="net" amount={payout.remainder} />] }]
      : []),
    {
      key: "payout",
      cells: [
        "Paid out",
        "–",
        "–",
        "–",
        <strong key="net">
          <Amount amount={payout?.amount} />
        </strong>,
      ],
    },
  ];
  const columns = [{ name: "Kind" }, ...["Lines", "Gross", "Fee", "Net"].map((name) => ({ name, isNumber: true }))];
  return <RecordTable label="Sums" className="records totals" columns={columns} rows={rows} />;
}
