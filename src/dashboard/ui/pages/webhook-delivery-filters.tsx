/** The filters of the list of deliveries, all kept in the address. */
import { useNavigate } from "@tanstack/react-router";
import { useId } from "react";
import { Button } from "../parts/button.tsx";
import { useScope } from "../scope.ts";
import { type DeliverySearch, type DeliveryState, deliveryStates, readDeliverySearch } from "../webhook-address.ts";

const names: Readonly<Record<DeliveryState, string>> = {
  pending: "Waiting",
  succeeded: "Succeeded",
  exhausted: "Given up",
};

/** Two selects, and a field for an id. */
export function DeliveryFilters({ search, urls }: { search: DeliverySearch; urls: ReadonlyMap<string, string> }) {
  const { environmentName: environment, merchantId } = useScope();
  const navigate = useNavigate();
  const [endpointId, statusId, aboutId] = [useId(), useId(), useId()];
  const choose = (chosen: Record<string, unknown>) =>
    void navigate({
      to: "/$environment/$merchantId/webhooks/deliveries",
      params: { environment, merchantId },
      search: readDeliverySearch({ ...search, ...chosen }),
    });
  const isUnknown = search.endpoint !== undefined && !urls.has(search.endpoint);
  return (
    <form
      className="delivery-filters"
      key={search.about ?? ""}
      onSubmit={(event) => {
        event.preventDefault();
        choose({ about: new FormData(event.currentTarget).get("about") });
      }}
    >
      <div className="field">
        <label htmlFor={endpointId}>Endpoint</label>
        <select
          id={endpointId}
          value={search.endpoint ?? ""}
          onChange={(event) => choose({ endpoint: event.target.value })}
        >
          <option value="">All</option>
          {isUnknown && <option value={search.endpoint}>{search.endpoint}</option>}
          {[...urls].map(([id, url]) => (
            <option key={id} value={id}>
              {url}
            </option>
          ))}
        </select>
      </div>
      <div className="field">
        <label htmlFor={statusId}>State</label>
        <select id={statusId} value={search.status ?? ""} onChange={(event) => choose({ status: event.target.value })}>
          <option value="">All</option>
          {deliveryStates.map((state) => (
            <option key={state} value={state}>
              {names[state]}
            </option>
          ))}
        </select>
      </div>
      <div className="field">
        <label htmlFor={aboutId}>Event or payment</label>
        <input
          id={aboutId}
          name="about"
          defaultValue={search.about ?? ""}
          maxLength={40}
          autoComplete="off"
          spellCheck={false}
          placeholder="evt_… or ps_…"
          pattern="\s*(evt|ps)_[0-9a-z]{26}\s*"
          title="An id that begins with evt_ or ps_"
        />
      </div>
      <Button type="submit">Find</Button>
    </form>
  );
}
