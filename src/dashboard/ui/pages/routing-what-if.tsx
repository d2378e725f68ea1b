/** What the rule on the page would have done to payments of the past, as far as anybody can know. */
import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useRef, useState } from "react";
import {
  ReplayedPayment_End as End,
  type ReplayedPayment,
  RoutingRuleService,
} from "../../../../gen/dashboard/v1/routing_rules_pb.ts";
import { Button } from "../parts/button.tsx";
import { nameOfGateway } from "../parts/gateway-name.ts";
import { Refusal } from "../parts/refusal.tsx";
import { TableScroll } from "../parts/table-scroll.tsx";
import { Moment } from "../parts/time.tsx";
import { useScope } from "../scope.ts";
import type { RuleDraft } from "./routing-draft.ts";
import { addSlice, emptyTotals, progressOf, type Totals, whatIfRows } from "./what-if-totals.ts";

/** Asks slice by slice, and shows the sum as it grows. */
export function RoutingWhatIf({ draft }: { draft: RuleDraft }) {
  const { merchantId, environment } = useScope();
  const client = createClient(RoutingRuleService, useTransport());
  const [days, setDays] = useState(7);
  const [totals, setTotals] = useState<Totals & { rule: string }>();
  const stop = useRef<AbortController>(undefined);
  const rule = JSON.stringify([draft.connectionIds, draft.failoverOn, days]);
  const look = useMutation({
    mutationFn: async () => {
      stop.current?.abort();
      stop.current = new AbortController();
      const { signal } = stop.current;
      const content = { connectionIds: [...draft.connectionIds], failoverOn: [...draft.failoverOn] };
      let sum = emptyTotals;
      do {
        const request = { merchantId, environment, draft: content, days, pageToken: sum.nextPageToken };
        sum = addSlice(sum, await client.whatIf(request, { signal }));
        setTotals({ ...sum, rule });
      } while (sum.nextPageToken !== "");
    },
  });
  const isCurrent = totals?.rule === rule;
  return (
    <section className="card" aria-labelledby="what-if">
      <h2 id="what-if">What if it had been so before</h2>
      <p>
        Follows {draft.isChanged ? "your unsaved changes" : "the rule in use"} through your own payments, by what each
        gateway said then. A gateway that was not asked may have said anything: those payments are counted as not
        knowable, and never guessed.
      </p>
      <div className="row">
        <label className="row">
          Look back over
          <select className="select" value={days} onChange={(event) => setDays(Number(event.target.value))}>
            {[1, 7, 14, 31].map((each) => (
              <option key={each} value={each}>
                {each === 1 ? "a day" : `${each} days`}
              </option>
            ))}
          </select>
        </label>
        <Button isPending={look.isPending} isDisabled={draft.connectionIds.length === 0} onPress={() => look.mutate()}>
          Try it on past payments
        </Button>
      </div>
      {look.isPending && (
        <label className="progress small">
          Looking back: {totals?.sessions ?? 0} sessions so far
          <progress max={1} value={totals ? progressOf(totals, days) : 0} />
        </label>
      )}
      <Refusal error={look.error} />
      {totals && !isCurrent && !look.isPending && <p className="small">The rule was changed since: try it again.</p>}
      {totals && isCurrent && <Result totals={totals} isWhole={!look.isPending} />}
    </section>
  );
}

function Result({ totals, isWhole }: { totals: Totals; isWhole: boolean }) {
  if (totals.counts.payments === 0) {
    return isWhole ? <p role="status">No payment was submitted and has ended in this time.</p> : null;
  }
  return (
    <div className="form" role="status">
      <dl className="figures">
        {whatIfRows(totals.counts).map(({ name, value, detail }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
            <dd className="soft small">{detail}</dd>
          </div>
        ))}
      </dl>
      {isWhole && totals.examples.length > 0 && <Examples examples={totals.examples} />}
      <p className="small soft">
        A gateway that was asked is taken to answer as it did. Connections are taken as they are now; circuit breakers
        and the time for a payment are left out.
      </p>
    </div>
  );
}

const endNames: Readonly<Record<number, readonly [string, string]>> = {
  [End.SUCCEEDS]: ["Succeeds", "good"],
  [End.FAILS]: ["Fails", "bad"],
  [End.CANNOT_KNOW]: ["Cannot know", "warn"],
};

function Examples({ examples }: { examples: readonly ReplayedPayment[] }) {
  const { environmentName, merchantId } = useScope();
  const path = (gateways: readonly string[]) => gateways.map(nameOfGateway).join(" → ") || "nobody";
  return (
    <TableScroll label="Payments that would have gone otherwise">
      <table>
        <thead>
          <tr>
            <th scope="col">Payment</th>
            <th scope="col">Then</th>
            <th scope="col">Instead</th>
          </tr>
        </thead>
        <tbody>
          {examples.map((each) => (
            <tr key={each.sessionId}>
              <td>
                <Moment at={each.createdAt} />
                <div>
                  <Link
                    className="mono small"
                    to="/$environment/$merchantId/payments/$sessionId"
                    params={{ environment: environmentName, merchantId, sessionId: each.sessionId }}
                  >
                    {each.sessionId}
                  </Link>
                </div>
              </td>
              <td>
                {path(each.askedThen)}
                <div className="small soft">{each.statusThen}</div>
              </td>
              <td>
                {path(each.askedInstead)}{" "}
                <span className="badge" data-tone={endNames[each.end]?.[1]}>
                  {endNames[each.end]?.[0]}
                </span>
                <div className="small soft">{each.because}</div>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableScroll>
  );
}
