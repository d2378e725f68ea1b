/** The payments for which gateways may ask for the customer. */
import { AcquirerExemption_Kind as Exemption } from "../../../../gen/dashboard/v1/gateway_connections_pb.ts";
import {
  RoutingRule_Authentication as Authentication,
  RoutingRule_WithoutBrowser as WithoutBrowser,
} from "../../../../gen/dashboard/v1/routing_rules_pb.ts";
import { SelectField } from "../parts/field.tsx";
import { nameOfGateway } from "../parts/gateway-name.ts";
import { noPolicy, type Policy, type RuleDraft } from "./routing-draft.ts";
import type { Connections } from "./routing-order.tsx";

const choices = [
  [
    Authentication.AS_NEEDED,
    "As needed",
    "Each gateway decides for each payment. If a bank requires authentication, the same gateway gets the payment once more with it.",
  ],
  [
    Authentication.ALWAYS,
    "Always",
    "Each payment has to be authenticated, or is declined. Banks let most payments pass without asking. Choose this where the law requires authentication, such as in India.",
  ],
  [
    Authentication.NEVER,
    "Never",
    "No gateway may ask. If a bank requires authentication, the payment is declined and no other gateway is tried.",
  ],
] as const;

const exemptions = [
  [
    Exemption.LOW_VALUE,
    "Ask to exempt low amounts",
    "Where a gateway’s acquirer has agreed to, up to its amount. If the bank refuses, the customer authenticates.",
  ],
  [
    Exemption.RISK_ANALYSIS,
    "Ask to exempt payments of low risk",
    "The same, for payments whose risk the acquirer assesses itself.",
  ],
] as const;

function RoutingPolicy({ draft: { policy = noPolicy, change }, mayChange }: { draft: RuleDraft; mayChange: boolean }) {
  const set = (changed: Partial<Policy>) => change({ policy: { ...policy, ...changed } });
  const option = (name: string, detail: string, isOn: boolean, turn: (isOn: boolean) => void) => (
    <label className="choice" key={name}>
      <input type="checkbox" checked={isOn} disabled={!mayChange} onChange={({ target }) => turn(target.checked)} />
      <span>
        <strong>{name}</strong>
        <span className="soft small">{detail}</span>
      </span>
    </label>
  );
  return (
    <div className="form">
      {exemptions.map(([kind, name, detail]) =>
        option(name, detail, policy.exemptions.includes(kind), (isOn) => {
          const others = policy.exemptions.filter((one) => one !== kind);
          set({ exemptions: isOn ? [...others, kind] : others });
        }),
      )}
      {option(
        "Stop if the provider cannot authenticate",
        "Applies to payments that a provider always authenticates first. If this is off, the gateways authenticate instead.",
        policy.stopsIfUnavailable,
        (stopsIfUnavailable) => set({ stopsIfUnavailable }),
      )}
      {option(
        "Ask a customer only once",
        "After one challenge, no other gateway asks in the same payment.",
        policy.forbidsSecondChallenge,
        (forbidsSecondChallenge) => set({ forbidsSecondChallenge }),
      )}
      {option(
        "Pay without authentication if the page sends no browser data",
        "Applies to payments that always have to be authenticated. Anyone at the checkout can leave these data out, so by default such a payment is declined.",
        policy.withoutBrowser === WithoutBrowser.PAY,
        (isPaid) => set({ withoutBrowser: isPaid ? WithoutBrowser.PAY : WithoutBrowser.DECLINE }),
      )}
      {option(
        "Store cards without asking the bank each time",
        "By default, a payment that begins an agreement, and storing a card alone, are always authenticated, with a challenge: banks decline more of the charges that follow an agreement without one. Europe’s rules require it.",
        policy.savingAsRule,
        (savingAsRule) => set({ savingAsRule }),
      )}
    </div>
  );
}

type AuthenticationProps = { draft: RuleDraft; connections: Connections; mayChange: boolean };

export function RoutingAuthentication({ draft, connections, mayChange }: AuthenticationProps) {
  const { authentication, providerId, change } = draft;
  const providers = connections.filter(({ isProvider, verified }) => isProvider && verified);
  return (
    <section className="card" aria-labelledby="authentication">
      <h2 id="authentication">Customer authentication</h2>
      <p>Whether a gateway may ask your customers to confirm a payment at their bank (3‑D Secure).</p>
      <div className="form" role="radiogroup" aria-labelledby="authentication">
        {choices.map(([choice, name, detail]) => (
          <label className="choice" key={choice}>
            <input
              type="radio"
              name="authentication"
              checked={authentication === choice}
              disabled={!mayChange}
              onChange={() => change({ authentication: choice })}
            />
            <span>
              <strong>{name}</strong>
              <span className="soft small">{detail}</span>
            </span>
          </label>
        ))}
      </div>
      {providers.length > 0 && (
        <SelectField
          label="Provider"
          value={providerId ?? ""}
          disabled={!mayChange}
          onChange={({ target }) => change({ providerId: target.value })}
          values={[
            ["", "None: each gateway authenticates itself"],
            ...providers.map(
              ({ connectionId, gateway, account }) => [connectionId, `${nameOfGateway(gateway)} ${account}`] as const,
            ),
          ]}
          hint="A provider authenticates the customer once, for every gateway that imports its proof."
        />
      )}
      <RoutingPolicy draft={draft} mayChange={mayChange} />
      <p className="small">
        With <em>As needed</em>, a page that cannot show the bank’s page is paid without authentication. With{" "}
        <em>Always</em>, a gateway that neither authenticates customers nor imports the provider’s proof gets no
        payment.
      </p>
    </section>
  );
}
