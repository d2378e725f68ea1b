/** The filters of the list of payments, all kept in the address. */
import { useQuery } from "@connectrpc/connect-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useId } from "react";
import { GatewayConnectionService } from "../../../../gen/dashboard/v1/gateway_connections_pb.ts";
import type { Currency } from "../../../../gen/dashboard/v1/payments_pb.ts";
import { Button } from "../parts/button.tsx";
import { AmountFields, Choice, FilterForm, TextBox } from "../parts/filter-form.tsx";
import { nameOfGateway } from "../parts/gateway-name.ts";
import {
  dayOf,
  type Outcome,
  type PaymentSearch,
  paymentStates,
  readPaymentSearch,
  withOutcome,
} from "../payment-address.ts";
import { useScope } from "../scope.ts";

const presets: readonly [string, Outcome][] = [
  ["All", {}],
  ["Succeeded", { status: "succeeded" }],
  ["Declined", { status: "declined" }],
  ["Failed", { status: "failed" }],
  ["Processing", { status: "processing" }],
  ["Held", { status: "held" }],
  ["Released", { status: "released" }],
  ["Saved by failover", { failover: true }],
];

// Works with any filter; choosing it again clears it.
const periods = [
  ["Today", 0],
  ["Last 7 days", 6],
  ["Last 28 days", 27],
] as const;

/** The most frequently used lists. */
export function Presets({ search }: { search: PaymentSearch }) {
  const scope = useParamsOfScope();
  return (
    <nav className="presets" aria-label="Lists">
      {presets.map(([name, wanted]) => (
        <Link
          key={name}
          to="/$environment/$merchantId/payments"
          params={scope}
          search={withOutcome(search, wanted)}
          activeOptions={{ exact: true, includeSearch: true, explicitUndefined: true }}
          activeProps={{}}
          aria-current={search.status === wanted.status && search.failover === wanted.failover ? "page" : undefined}
        >
          {name}
        </Link>
      ))}
      <span className="presets-rest">
        {periods.map(([name, daysBack]) => {
          const after = dayOf(new Date(), daysBack);
          const isChosen = search.after === after && search.before === undefined;
          const { after: _, before: __, ...rest } = search;
          return (
            <Link
              key={name}
              to="/$environment/$merchantId/payments"
              params={scope}
              search={isChosen ? rest : { ...rest, after }}
              activeOptions={{ exact: true, includeSearch: true, explicitUndefined: true }}
              activeProps={{}}
              aria-current={isChosen ? "true" : undefined}
            >
              {name}
            </Link>
          );
        })}
      </span>
    </nav>
  );
}

/** One search box for any id or reference. */
export function SearchBox({ search }: { search: PaymentSearch }) {
  const scope = useParamsOfScope();
  const navigate = useNavigate();
  const id = useId();
  const go = (q: string) => {
    const { q: _, ...filters } = search;
    const wanted = readPaymentSearch({ ...filters, q });
    void navigate({ to: "/$environment/$merchantId/payments", params: scope, search: wanted });
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: older browsers do not know the element
    <form
      className="search"
      role="search"
      key={search.q ?? ""}
      onSubmit={(event) => {
        event.preventDefault();
        go(String(new FormData(event.currentTarget).get("q")));
      }}
    >
      <label className="visually-hidden" htmlFor={id}>
        Find a payment
      </label>
      <input
        id={id}
        name="q"
        type="search"
        data-shortcut="/"
        defaultValue={search.q ?? ""}
        maxLength={255}
        autoComplete="off"
        spellCheck={false}
        placeholder="Order, any id, card’s last four digits, customer, amount"
      />
      <Button type="submit">Find</Button>
      {search.q !== undefined && (
        <Button kind="plain" onPress={() => go("")}>
          Clear
        </Button>
      )}
    </form>
  );
}

/** The other filters, collapsed by default. */
export function Filters({ search, currencies }: { search: PaymentSearch; currencies: readonly Currency[] }) {
  const { merchantId, environment } = useScope();
  const scope = useParamsOfScope();
  const navigate = useNavigate();
  const { data } = useQuery(GatewayConnectionService.method.listGatewayConnections, { merchantId, environment });
  const gateways = [...new Set((data?.connections ?? []).map(({ gateway }) => gateway))];
  const { q: _, ...used } = search;
  const go = (wanted: PaymentSearch) =>
    navigate({ to: "/$environment/$merchantId/payments", params: scope, search: wanted });
  return (
    <FilterForm
      used={used}
      onApply={(fields) => go(readPaymentSearch({ ...fields, failover: fields.failover === "on" }))}
      onClear={() => go({})}
    >
      <Choice
        label="State"
        name="status"
        value={search.status}
        values={paymentStates.map((state) => [state, capitalized(state)])}
      />
      <Choice
        label="Gateway"
        name="gateway"
        value={search.gateway}
        values={gateways.map((gateway) => [gateway, nameOfGateway(gateway)])}
      />
      <TextBox label="Order begins with" name="order" value={search.order} />
      <TextBox
        label="Card ends in"
        name="card"
        value={search.card}
        inputMode="numeric"
        pattern="\d{4}"
        maxLength={4}
        title="The last four digits of the card"
      />
      <AmountFields {...{ currencies, currency: search.currency, from: search.from, to: search.to }} />
      <TextBox label="Created on or after" name="after" value={search.after} type="date" max={dayOf(new Date())} />
      <TextBox label="Created on or before" name="before" value={search.before} type="date" />
      <label className="tick">
        <input type="checkbox" name="failover" defaultChecked={search.failover ?? false} /> Saved by failover
      </label>
    </FilterForm>
  );
}

function useParamsOfScope() {
  const { environmentName: environment, merchantId } = useScope();
  return { environment, merchantId };
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
