/** The failures after which the next gateway is tried, and the retry at the same one. */
import { RoutingRule_FailoverSwitch as Kind } from "../../../../gen/dashboard/v1/routing_rules_pb.ts";
import { Switch } from "../parts/switch.tsx";
import type { RuleDraft } from "./routing-draft.ts";

const switches = [
  [
    Kind.HARD_DECLINE,
    "Declines, hard or soft",
    "The bank declines, such as for insufficient funds. Another gateway may approve.",
  ],
  [
    Kind.TIMEOUT,
    "Timeouts",
    "No complete answer within the time limit of an attempt. A hold that appears later is voided.",
  ],
  [
    Kind.GATEWAY_ERROR,
    "Gateway errors",
    "A broken connection, 5xx, or an answer that is neither an approval nor a decline.",
  ],
] as const;

/** A switch for each kind of failure, one for the retry before it, and the kinds that are fixed. */
export function RoutingSwitches({ draft, mayChange }: { draft: RuleDraft; mayChange: boolean }) {
  const { failoverOn, change } = draft;
  const set = (kind: Kind, isOn: boolean) =>
    change({ failoverOn: isOn ? [...failoverOn, kind] : failoverOn.filter((each) => each !== kind) });
  return (
    <section className="card" aria-labelledby="failover">
      <h2 id="failover">Try the next gateway after</h2>
      <ul className="form">
        {switches.map(([kind, name, detail]) => (
          <li key={kind}>
            <Switch
              name={name}
              detail={detail}
              isDisabled={!mayChange}
              isOn={failoverOn.includes(kind)}
              onChange={(isOn) => set(kind, isOn)}
            />
          </li>
        ))}
      </ul>
      <p className="small">
        Whatever the switches, the next gateway is never tried after suspected fraud, if the card scheme forbids a
        retry, if the card would fail at every gateway, if the customer has to authenticate or did not, or if the
        decline code is unclassified.
      </p>
      <Switch
        name="Retry once at the same gateway, if it asks to try again"
        detail="Some declines are processing errors, after which a gateway allows another attempt at once. Only then the next gateway is tried."
        isOn={draft.retriesSameGateway ?? false}
        isDisabled={!mayChange}
        onChange={(retriesSameGateway) => draft.change({ retriesSameGateway })}
      />
    </section>
  );
}
