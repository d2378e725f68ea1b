/** Simulates the rule on the page on past payments, as far as outcomes can be known. */
import { useMutation } from "@tanstack/react-query";
import { type ComponentType, lazy, Suspense, useRef, useState } from "react";
import { RoutingRuleService } from "../../../../gen/dashboard/v1/routing_rules_pb.ts";
import { Button } from "../parts/button.tsx";
import { NoZone } from "../parts/no-zone.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { ownZone } from "../parts/time-zones.ts";
import { useScope } from "../scope.ts";
import { useClient } from "../use-client.ts";
import { textOfCases } from "./routing-case-draft.ts";
import { contentOf, problemsOf, type RuleDraft } from "./routing-draft.ts";
import { addSlice, emptyTotals, progressOf, type Totals } from "./what-if-totals.ts";

// Its code is loaded with the first result. If it cannot be loaded, the edits of the page must not be lost.
const WhatIfResult = lazy<ComponentType<{ totals: Totals; isWhole: boolean }>>(async () => ({
  default: await import("./routing-what-if-result.tsx").then(
    (loaded) => loaded.WhatIfResult,
    () => NotLoaded,
  ),
}));

function NotLoaded() {
  return (
    <p className="banner" data-tone="bad" role="alert">
      The result cannot be shown: this page is from an earlier version. Save your changes, then reload it.
    </p>
  );
}

export function RoutingWhatIf({ draft }: { draft: RuleDraft }) {
  const { merchantId, environment } = useScope();
  const client = useClient(RoutingRuleService);
  const [days, setDays] = useState(7);
  const [totals, setTotals] = useState<Totals & { rule: string }>();
  const stop = useRef<AbortController>(undefined);
  const { cases: _, ...content } = contentOf(draft);
  const rule = JSON.stringify([content, textOfCases(draft.cases), days]);
  const look = useMutation({
    mutationFn: async () => {
      stop.current?.abort();
      stop.current = new AbortController();
      const { signal } = stop.current;
      const content = contentOf(draft);
      let sum = emptyTotals;
      do {
        const request = {
          merchantId,
          environment,
          draft: content,
          days,
          timeZone: ownZone,
          pageToken: sum.nextPageToken,
        };
        sum = addSlice(sum, await client.whatIf(request, { signal }));
        setTotals({ ...sum, rule });
      } while (sum.nextPageToken !== "");
    },
  });
  const isCurrent = totals?.rule === rule;
  const problems = problemsOf(draft);
  return (
    <section className="card" aria-labelledby="what-if">
      <h2 id="what-if">Simulate on past payments</h2>
      <p>
        Applies {draft.isChanged ? "your unsaved changes" : "the rule in use"} to your past payments, with the answers
        that the gateways gave. Days are those of {ownZone}, in which the payments were created; today counts so far.
        What cannot be known is not guessed: a payment counts as unknown if it needs a gateway that was not called, if
        its customer was at the bank, if the rule would ask for the customer otherwise, or if a case asks for something
        that was not recorded of the payment.
      </p>
      <NoZone />
      <div className="row">
        <label className="row">
          Simulate payments of
          <select className="select" value={days} onChange={(event) => setDays(Number(event.target.value))}>
            {[1, 7, 14, 31].map((each) => (
              <option key={each} value={each}>
                {each === 1 ? "today" : `the last ${each} days`}
              </option>
            ))}
          </select>
        </label>
        <Button
          isPending={look.isPending}
          isDisabled={problems.length > 0}
          describedBy={problems.length > 0 ? "what-if-problems" : undefined}
          onPress={() => look.mutate()}
        >
          Simulate
        </Button>
      </div>
      {problems.length > 0 && (
        <p className="small" id="what-if-problems">
          The rule cannot be simulated yet. {problems.join(" ")}
        </p>
      )}
      {look.isPending && (
        <label className="progress small">
          Looking back: {totals?.sessions ?? 0} sessions so far
          <progress max={1} value={totals ? progressOf(totals, days) : 0} />
        </label>
      )}
      <Refusal error={look.error} />
      {totals && !isCurrent && !look.isPending && <p className="small">The rule has changed since: simulate again.</p>}
      {totals && isCurrent && (
        <Suspense>
          <WhatIfResult totals={totals} isWhole={!look.isPending} />
        </Suspense>
      )}
    </section>
  );
}
