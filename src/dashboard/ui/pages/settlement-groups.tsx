/** The groups that a person looks at first: open movements by reason and age, unmatched lines by reason, each with the next step. */
import { Fragment } from "react";
import type { GetSettlementOverviewResponse } from "../../../../gen/dashboard/v1/settlement_pb.ts";
import { Amount } from "../parts/amount.tsx";
import { RecordTable } from "../parts/record-table.tsx";
import { Badge, byUrgency, lineWords, openWords } from "../parts/settlement-words.tsx";
import { Moment } from "../parts/time.tsx";
import { withChosen } from "../payment-address.ts";
import { ScopeLink } from "../scope.ts";
import type { SettlementSearch } from "../settlement-address.ts";

type Props = { readonly overview: GetSettlementOverviewResponse; readonly search: SettlementSearch };

const ages = ["Up to 2 days", "3 to 7 days", "8 to 14 days", "15 days or more"];

export function OpenGroups({ overview, search }: Props) {
  const { open, countedUntil, unmatched, unmatchedCut } = overview;
  const lines = unmatched.reduce((sum, group) => sum + group.lines, 0);
  const rows = byUrgency(open).map(({ reason, movements, byAge, owed }) => {
    const outstanding = owed.filter(({ amountMinor }) => amountMinor !== 0n);
    return {
      key: reason,
      cells: [
        <Badge key="reason" words={openWords(reason)} />,
        openWords(reason).next,
        ...byAge.map((count, index) => (
          <span key={ages[index]} className={count === 0 ? "soft" : undefined}>
            {count.toLocaleString()}
          </span>
        )),
        <>
          {outstanding.length === 0 && "–"}
          {outstanding.map((amount, index) => (
            <Fragment key={amount.currency}>
              {index > 0 && ", "}
              <Amount amount={amount} />
            </Fragment>
          ))}
          <ScopeLink
            className="small line-reference"
            to="./settlement"
            search={withChosen(search, ["reason"], { reason })}
          >
            {movements === 1 ? "1 movement" : `${movements.toLocaleString()} movements`}
          </ScopeLink>
        </>,
      ],
    };
  });
  const columns = [
    { name: "Reason" },
    { name: "What to do" },
    ...ages.map((name) => ({ name, isNumber: true })),
    { name: "Outstanding", isNumber: true },
  ];
  return (
    <>
      {lines > 0 && (
        <p className="banner">
          {unmatchedCut ? "More than " : ""}
          {lines === 1
            ? "1 line of a statement matches no payment."
            : `${lines.toLocaleString()} lines of statements match no payment.`}{" "}
          <ScopeLink to="./settlement" search={{ show: "lines" }}>
            See the lines
          </ScopeLink>
        </p>
      )}
      {rows.length > 0 && (
        <section className="stack" aria-labelledby="open">
          <h2 id="open">Open by reason and age</h2>
          <RecordTable
            label="Open movements by reason"
            columns={columns}
            rows={rows}
            className="records statements groups"
          />
          {countedUntil && (
            <p className="soft small">
              These are the movements until <Moment at={countedUntil} />. Choose fewer days to count the later ones.
            </p>
          )}
        </section>
      )}
    </>
  );
}

export function UnmatchedGroups({ overview: { unmatched, unmatchedCut }, search }: Props) {
  if (unmatched.length === 0) return null;
  const rows = byUrgency(unmatched).map(({ reason, lines }) => ({
    key: reason,
    cells: [
      <Badge key="reason" words={lineWords(reason)} />,
      lineWords(reason).next,
      <ScopeLink key="lines" to="./settlement" search={withChosen(search, ["reason"], { reason })}>
        {lines === 1 ? "1 line" : `${lines.toLocaleString()} lines`}
      </ScopeLink>,
    ],
  }));
  const columns = [{ name: "Reason" }, { name: "What to do" }, { name: "Lines", isNumber: true }];
  return (
    <section className="stack" aria-labelledby="unmatched">
      <h2 id="unmatched">Lines that match no payment</h2>
      <RecordTable
        label="Unmatched lines by reason"
        columns={columns}
        rows={rows}
        className="records statements groups"
      />
      {unmatchedCut && <p className="soft small">These are the newest 10,000 lines.</p>}
    </section>
  );
}
