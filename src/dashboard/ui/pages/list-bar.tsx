/** The chips, days and filters of a list of payments or refunds, in one bar; all are kept in the address. */
import { useQuery } from "@connectrpc/connect-query";
import { Link, useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { GatewayConnectionService } from "../../../../gen/dashboard/v1/gateway_connections_pb.ts";
import { PaymentService } from "../../../../gen/dashboard/v1/payments_pb.ts";
import { AmountFields, Choice, FilterForm, TextBox } from "../parts/filter-form.tsx";
import { nameOfGateway } from "../parts/gateway-name.ts";
import { Empty, Failure } from "../parts/states.tsx";
import { amountsOf, dayOf, type MoneySearch, moneyFilterOf, withChosen } from "../payment-address.ts";
import { useScope } from "../scope.ts";

/** Reads the filters that both lists have. `problem` is shown in place of a list that cannot be searched. */
export function useMoneyFilter(search: MoneySearch) {
  const { merchantId, environment } = useScope();
  const scope = { merchantId, environment };
  const known = useQuery(PaymentService.method.listCurrencies, scope, { staleTime: Number.POSITIVE_INFINITY });
  const currencies = known.data?.currencies ?? [];
  const amounts = amountsOf(search, currencies);
  const problem =
    amounts.type === "problem" ? (
      <Empty title={amounts.title}>
        <p>{amounts.advice}</p>
      </Empty>
    ) : amounts.type === "notLoaded" && known.error ? (
      <Failure error={known.error} onRetry={known.refetch} />
    ) : undefined;
  return { currencies, problem, isReady: amounts.type === "amounts", filter: moneyFilterOf(search, amounts) };
}

// Works with any filter; choosing it again clears it.
const periods = [
  ["Today", 0],
  ["7 days", 6],
  ["28 days", 27],
] as const;

export type Chip<Search> = readonly [name: string, chosen: Partial<Search>];

/** The bar. `read` reads the form's fields; `children` are the fields that only this list has. */
export function ListBar<Search extends MoneySearch>(props: {
  search: Search;
  chips: readonly Chip<Search>[];
  states: readonly string[];
  read: (fields: Record<string, unknown>) => Search;
  currencies: ReturnType<typeof useMoneyFilter>["currencies"];
  /** The event whose time the list is filtered by, such as `Created`. */
  happened: string;
  children: ReactNode;
}) {
  const { search, chips, states, read, currencies, happened, children } = props;
  const { merchantId, environment } = useScope();
  const navigate = useNavigate();
  const { data } = useQuery(GatewayConnectionService.method.listGatewayConnections, { merchantId, environment });
  const gateways = [...new Set((data?.connections ?? []).map(({ gateway }) => gateway))];
  const go = (wanted: object) => void navigate({ to: ".", search: wanted as never });
  const outcome = [...new Set(chips.flatMap(([, chosen]) => Object.keys(chosen)))] as (keyof Search)[];
  const { q: _, ...used } = search as Search & { q?: string };
  return (
    <div className="list-bar">
      <nav className="presets" aria-label="Lists">
        {chips.map(([name, chosen]) => (
          <ChipLink
            key={name}
            name={name}
            search={withChosen(search, outcome, chosen)}
            isChosen={outcome.every((key) => search[key] === chosen[key])}
          />
        ))}
      </nav>
      <div className="list-ends">
        <nav className="presets" aria-label="Days">
          {periods.map(([name, daysBack]) => {
            const after = dayOf(new Date(), daysBack);
            const isChosen = search.after === after && search.before === undefined;
            const days = (isChosen ? {} : { after }) as Partial<Search>;
            const wanted = withChosen(search, ["after", "before"], days);
            return <ChipLink key={name} name={name} search={wanted} isChosen={isChosen} />;
          })}
        </nav>
        <FilterForm used={used} onApply={(fields) => go(read(fields))} onClear={() => go({})}>
          <Choice
            label="State"
            name="status"
            value={search.status}
            values={states.map((state) => [state, state.charAt(0).toUpperCase() + state.slice(1)])}
          />
          <Choice
            label="Gateway"
            name="gateway"
            value={search.gateway}
            values={gateways.map((gateway) => [gateway, nameOfGateway(gateway)])}
          />
          {children}
          <AmountFields currencies={currencies} currency={search.currency} from={search.from} to={search.to} />
          <TextBox
            label={`${happened} on or after`}
            name="after"
            value={search.after}
            type="date"
            max={dayOf(new Date())}
          />
          <TextBox label={`${happened} on or before`} name="before" value={search.before} type="date" />
        </FilterForm>
      </div>
    </div>
  );
}

export function ChipLink({ name, search, isChosen }: { name: string; search: object; isChosen: boolean }) {
  return (
    <Link
      to="."
      search={search as never}
      activeOptions={{ exact: true, includeSearch: true, explicitUndefined: true }}
      activeProps={{}}
      aria-current={isChosen ? "true" : undefined}
    >
      {name}
    </Link>
  );
}
