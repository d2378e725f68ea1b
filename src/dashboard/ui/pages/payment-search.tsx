/** The search for a payment by any id, reference, card, customer or amount. */
import { useNavigate } from "@tanstack/react-router";
import { useId } from "react";
import { Button } from "../parts/button.tsx";
import { type PaymentSearch, readPaymentSearch } from "../payment-address.ts";
import { useScope } from "../scope.ts";

export function SearchBox({ search }: { search: PaymentSearch }) {
  const { environmentName: environment, merchantId } = useScope();
  const navigate = useNavigate();
  const id = useId();
  const go = (q: string) => {
    const { q: _, ...filters } = search;
    const wanted = readPaymentSearch({ ...filters, q });
    void navigate({ to: "/$environment/$merchantId/payments", params: { environment, merchantId }, search: wanted });
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
