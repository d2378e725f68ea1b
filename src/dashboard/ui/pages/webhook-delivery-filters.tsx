/** The filters of the list of deliveries, all kept in the address. */
import { useNavigate } from "@tanstack/react-router";
import { Button } from "../parts/button.tsx";
import { SelectField } from "../parts/field.tsx";
import { TextBox } from "../parts/filter-form.tsx";
import { useScope } from "../scope.ts";
import { type DeliverySearch, type DeliveryState, deliveryStates, readDeliverySearch } from "../webhook-address.ts";

const names: Readonly<Record<DeliveryState, string>> = {
  pending: "Waiting",
  succeeded: "Succeeded",
  exhausted: "Given up",
};

export function DeliveryFilters({ search, urls }: { search: DeliverySearch; urls: ReadonlyMap<string, string> }) {
  const { environmentName: environment, merchantId } = useScope();
  const navigate = useNavigate();
  const { endpoint = "" } = search;
  const choose = (chosen: Record<string, unknown>) =>
    void navigate({
      to: "/$environment/$merchantId/webhooks/deliveries",
      params: { environment, merchantId },
      search: readDeliverySearch({ ...search, ...chosen }),
    });
  const isUnknown = endpoint !== "" && !urls.has(endpoint);
  return (
    <form
      className="delivery-filters"
      key={search.about ?? ""}
      onSubmit={(event) => {
        event.preventDefault();
        choose({ about: new FormData(event.currentTarget).get("about") });
      }}
    >
      <SelectField
        label="Endpoint"
        value={endpoint}
        onChange={({ target }) => choose({ endpoint: target.value })}
        values={[["", "All"], ...(isUnknown ? [[endpoint, endpoint] as const] : []), ...urls]}
      />
      <SelectField
        label="State"
        value={search.status ?? ""}
        onChange={({ target }) => choose({ status: target.value })}
        values={[["", "All"], ...deliveryStates.map((state) => [state, names[state]] as const)]}
      />
      <TextBox
        label="Event or payment"
        name="about"
        value={search.about}
        maxLength={40}
        spellCheck={false}
        placeholder="evt_… or ps_…"
        pattern="\s*(evt|ps)_[0-9a-z]{26}\s*"
        title="An id that begins with evt_ or ps_"
      />
      <Button type="submit">Find</Button>
    </form>
  );
}
