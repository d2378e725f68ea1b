import type { RuleDraft } from "./routing-draft.ts";
import { ConnectionOrder, type Connections } from "./routing-order.tsx";
import { RoutingSplit } from "./routing-split.tsx";

type PlanProps = { draft: RuleDraft; connections: Connections; mayChange: boolean };

/** The section. The key of the split changes with its origin, so that a discard resets the typed text. */
export function RoutingDefaultPlan({ draft, connections, mayChange }: PlanProps) {
  return (
    <section className="card" aria-labelledby="order">
      <h2 id="order">Order</h2>
      <p>
        The first gateway gets every payment that it supports; the next one is tried if the previous one failed and the
        rule allows it. At most five are tried.
      </p>
      <ConnectionOrder
        labelledBy="order"
        connectionIds={draft.connectionIds}
        connections={connections}
        mayChange={mayChange}
        onChange={(connectionIds) => draft.change({ connectionIds })}
      />
      <RoutingSplit
        key={draft.origin}
        split={draft.split}
        connectionIds={draft.connectionIds}
        connections={connections}
        mayChange={mayChange}
        onChange={(split) => draft.change({ split })}
      />
    </section>
  );
}
