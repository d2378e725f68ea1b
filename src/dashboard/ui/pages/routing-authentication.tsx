/** The payments for which gateways may ask for the customer. */
import { RoutingRule_Authentication as Authentication } from "../../../../gen/dashboard/v1/routing_rules_pb.ts";
import { nameOfGateway } from "../parts/gateway-name.ts";
import type { RuleDraft } from "./routing-draft.ts";
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
    "Gateways have to authenticate each payment. Banks let most payments pass without asking. Choose this where the law requires authentication, such as in India.",
  ],
  [
    Authentication.NEVER,
    "Never",
    "No gateway may ask. If a bank requires authentication, the payment is declined and no other gateway is tried.",
  ],
] as const;

type AuthenticationProps = { draft: RuleDraft; connections: Connections; mayChange: boolean };

/** One choice out of three, and the provider. */
export function RoutingAuthentication({ draft, connections, mayChange }: AuthenticationProps) {
  const { authentication, providerId, change } = draft;
  const providers = connections.filter(({ isProvider, verified }) => isProvider && verified);
  return (
    <section className="card" aria-labelledby="authentication">
      <h2 id="authentication">Customer authentication</h2>
      <p>Whether a gateway may ask your customers to confirm a payment at their bank (3-D Secure).</p>
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
        <label>
          Provider
          <select
            value={providerId ?? ""}
            disabled={!mayChange}
            onChange={({ target }) => change({ providerId: target.value })}
          >
            <option value="">None: each gateway authenticates itself</option>
            {providers.map(({ connectionId, gateway, account }) => (
              <option key={connectionId} value={connectionId}>
                {nameOfGateway(gateway)} {account}
              </option>
            ))}
          </select>
          <span className="soft small">
            A provider authenticates the customer once, for every gateway that imports its proof.
          </span>
        </label>
      )}
      <p className="small">
        Gateways without authentication of their own get every payment without it. So does every gateway if the page of
        the checkout cannot show the bank’s page.
      </p>
    </section>
  );
}
