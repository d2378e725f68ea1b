/** The chips, gateway and days of the lists of payouts and settlement, in one bar; all are kept in the address. */
import { useQuery } from "@connectrpc/connect-query";
import { useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { GatewayConnectionService } from "../../../../gen/dashboard/v1/gateway_connections_pb.ts";
import { Choice, FilterForm, TextBox } from "../parts/filter-form.tsx";
import { nameOfGateway } from "../parts/gateway-name.ts";
import { useScope } from "../scope.ts";
import { ChipLink } from "./list-bar.tsx";

type Search = { readonly gateway?: string; readonly from?: string; readonly to?: string };
export type Shortcut = { readonly name: string; readonly search: object; readonly isChosen: boolean };

/** `read` reads the fields of the form; `kept` are those of the address that a form does not change. */
export function SettlementBar(props: {
  search: Search;
  chips: readonly Shortcut[];
  days?: readonly Shortcut[];
  /** The event that the days refer to; without it the list has neither days nor gateways to choose. */
  happened: string | undefined;
  kept?: object;
  read: (fields: Record<string, unknown>) => object;
  children?: ReactNode;
}) {
  const { search, chips, days = [], happened, kept = {}, read, children } = props;
  const { merchantId, environment } = useScope();
  const navigate = useNavigate();
  const { data } = useQuery(GatewayConnectionService.method.listGatewayConnections, { merchantId, environment });
  const gateways = [...new Set((data?.connections ?? []).map(({ gateway }) => gateway))];
  const go = (wanted: object) => void navigate({ to: ".", search: wanted as never });
  const used = Object.fromEntries(Object.entries(search).filter(([name]) => !(name in kept)));
  return (
    <div className="list-bar">
      <nav className="presets" aria-label="Lists">
        {chips.map((chip) => (
          <ChipLink key={chip.name} {...chip} />
        ))}
      </nav>
      <div className="list-ends">
        {days.length > 0 && (
          <nav className="presets" aria-label="Days">
            {days.map((chip) => (
              <ChipLink key={chip.name} {...chip} />
            ))}
          </nav>
        )}
        <FilterForm used={used} onApply={(fields) => go(read({ ...kept, ...fields }))} onClear={() => go(kept)}>
          {happened && (
            <Choice
              label="Gateway"
              name="gateway"
              value={search.gateway}
              values={gateways.map((gateway) => [gateway, nameOfGateway(gateway)])}
            />
          )}
          {children}
          {happened && (
            <>
              <TextBox label={`${happened} on or after (UTC)`} name="from" value={search.from} type="date" />
              <TextBox label={`${happened} on or before (UTC)`} name="to" value={search.to} type="date" />
            </>
          )}
        </FilterForm>
      </div>
    </div>
  );
}
