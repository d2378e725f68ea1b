/** The filters of the list of payments, all kept in the address. */
import { useQuery } from "@connectrpc/connect-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useId } from "react";
import { GatewayConnectionService } from "../../../../gen/dashboard/v1/gateway_connections_pb.ts";
import type { Currency } from "../../../../gen/dashboard/v1/payments_pb.ts";
import { Button } from "../parts/button.tsx";
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
  ["Degraded", { status: "degraded" }],
  ["Processing", { status: "processing" }],
  ["Saved by failover", { failover: true }],
];

const dayMs = 86_400_000;
// Works with any filter; choosing it again clears it.
const periods = [
  ["Today", 0],
  ["7 days", 6],
  ["30 days", 29],
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
          const after = dayOf(new Date(Date.now() - daysBack * dayMs));
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
        placeholder="Order reference, any id, gateway’s reference"
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
  const scope = useParamsOfScope();
  const navigate = useNavigate();
  const { q: _, ...filters } = search;
  const used = Object.keys(filters).length;
  const go = (wanted: PaymentSearch) =>
    navigate({ to: "/$environment/$merchantId/payments", params: scope, search: wanted });
  return (
    <details className="card payment-filters" open={used > 1 || undefined}>
      <summary>{used === 0 ? "Filters" : used === 1 ? "1 filter" : `${used} filters`}</summary>
      <form
        key={JSON.stringify(filters)}
        onSubmit={(event) => {
          event.preventDefault();
          const fields = Object.fromEntries(new FormData(event.currentTarget));
          void go(readPaymentSearch({ ...fields, failover: fields.failover === "on" }));
        }}
      >
        <Fields search={search} currencies={currencies} />
        <div className="row">
          <Button kind="main" type="submit">
            Apply
          </Button>
          <Button kind="plain" onPress={() => void go({})}>
            Clear all
          </Button>
        </div>
      </form>
    </details>
  );
}

function Fields({ search, currencies }: { search: PaymentSearch; currencies: readonly Currency[] }) {
  const { merchantId, environment } = useScope();
  const { data } = useQuery(GatewayConnectionService.method.listGatewayConnections, { merchantId, environment });
  const gateways = [...new Set((data?.connections ?? []).map(({ gateway }) => gateway))];
  return (
    <>
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
      <Choice
        label="Currency"
        name="currency"
        value={search.currency}
        values={currencies.map(({ code }) => [code, `${code} – ${nameOfCurrency(code)}`])}
      />
      <TextBox
        label="Amount from"
        name="from"
        value={search.from?.toString()}
        inputMode="decimal"
        pattern="\d{1,12}(\.\d{1,3})?"
      />
      <TextBox
        label="Amount to"
        name="to"
        value={search.to?.toString()}
        inputMode="decimal"
        pattern="\d{1,12}(\.\d{1,3})?"
      />
      <TextBox label="Created on or after" name="after" value={search.after} type="date" max={dayOf(new Date())} />
      <TextBox label="Created on or before" name="before" value={search.before} type="date" />
      <label className="tick">
        <input type="checkbox" name="failover" defaultChecked={search.failover ?? false} /> Saved by failover
      </label>
      <p className="row soft small">
        Amounts are in the chosen currency. Without a currency, enter amounts with two decimals.
      </p>
    </>
  );
}

function Choice(props: {
  label: string;
  name: string;
  value: string | undefined;
  values: readonly (readonly [string, string])[];
}) {
  const id = useId();
  const { value: chosen, values } = props;
  // The chosen value is listed at once, even before its name is loaded.
  const isKnown = chosen === undefined || values.some(([value]) => value === chosen);
  return (
    <div className="field">
      <label htmlFor={id}>{props.label}</label>
      <select id={id} name={props.name} defaultValue={chosen ?? ""}>
        <option value="">Any</option>
        {(isKnown ? values : [[chosen, chosen] as const, ...values]).map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
    </div>
  );
}

function TextBox({
  label,
  value,
  ...input
}: { label: string; value: string | undefined } & React.InputHTMLAttributes<HTMLInputElement>) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input id={id} defaultValue={value ?? ""} autoComplete="off" {...input} />
    </div>
  );
}

function useParamsOfScope() {
  const { environmentName: environment, merchantId } = useScope();
  return { environment, merchantId };
}

const currencyNames = new Intl.DisplayNames(undefined, { type: "currency" });

function nameOfCurrency(code: string): string {
  return currencyNames.of(code) ?? code;
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
