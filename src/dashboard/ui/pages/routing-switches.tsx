/** After which failures the next gateway is asked. */
import { RoutingRule_FailoverSwitch as Switch } from "../../../../gen/dashboard/v1/routing_rules_pb.ts";
import type { RuleDraft } from "./routing-draft.ts";

const switches = [
  [Switch.HARD_DECLINE, "Declines", "The bank says no, such as for insufficient funds. Another gateway may hear yes."],
  [
    Switch.TIMEOUT,
    "Timeouts",
    "No whole answer within the time of an attempt. A hold that turns up later is given back.",
  ],
  [Switch.GATEWAY_ERROR, "Gateway errors", "A broken connection, 5xx, or an answer that is neither yes nor no."],
] as const;

/** A switch for each kind, and the ones that nobody can switch. */
export function RoutingSwitches({ draft, mayChange }: { draft: RuleDraft; mayChange: boolean }) {
  const { failoverOn, change } = draft;
  const set = (kind: Switch, isOn: boolean) =>
    change({ failoverOn: isOn ? [...failoverOn, kind] : failoverOn.filter((each) => each !== kind) });
  return (
    <section className="card" aria-labelledby="failover">
      <h2 id="failover">Ask the next gateway after</h2>
      <ul className="form">
        {switches.map(([kind, name, detail]) => (
          <li key={kind}>
            <label className="switch">
              <input
                type="checkbox"
                role="switch"
                checked={failoverOn.includes(kind)}
                aria-checked={failoverOn.includes(kind)}
                disabled={!mayChange}
                onChange={(event) => set(kind, event.target.checked)}
              />
              <span>
                <strong>{name}</strong>
                <span className="soft small">{detail}</span>
              </span>
            </label>
          </li>
        ))}
      </ul>
      <p className="small">
        Never after fraud, nor where the card scheme forbids another try, the same card fails everywhere, the customer
        has to authenticate, or nobody has classified the code: whatever the switches say.
      </p>
    </section>
  );
}
