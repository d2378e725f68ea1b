/** The form of a list's filters, which are kept in the address, and its fields. */
import { type ReactNode, useId } from "react";
import { Button } from "./button.tsx";

/** The form, collapsed by default. `used`: the filters in use; `onApply` gets the fields by their names. */
export function FilterForm(props: {
  used: object;
  onApply: (fields: Record<string, unknown>) => unknown;
  onClear: () => unknown;
  children: ReactNode;
}) {
  const count = Object.keys(props.used).length;
  return (
    <details className="card payment-filters" open={count > 1 || undefined}>
      <summary>{count === 0 ? "Filters" : count === 1 ? "1 filter" : `${count} filters`}</summary>
      <form
        key={JSON.stringify(props.used)}
        onSubmit={(event) => {
          event.preventDefault();
          props.onApply(Object.fromEntries(new FormData(event.currentTarget)));
        }}
      >
        {props.children}
        <div className="row">
          <Button kind="main" type="submit">
            Apply
          </Button>
          <Button kind="plain" onPress={() => props.onClear()}>
            Clear all
          </Button>
        </div>
      </form>
    </details>
  );
}

/** One of several values, or any. */
export function Choice(props: {
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

/** A text, a number or a day. */
export function TextBox({
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

/** The smallest and the largest amount of a list in a currency. */
export function AmountRange({ from, to }: { from: number | undefined; to: number | undefined }) {
  const amount = { inputMode: "decimal", pattern: "\\d{1,12}(\\.\\d{1,3})?" } as const;
  return (
    <>
      <TextBox label="Amount from" name="from" value={from?.toString()} {...amount} />
      <TextBox label="Amount to" name="to" value={to?.toString()} {...amount} />
    </>
  );
}

const currencyNames = new Intl.DisplayNames(undefined, { type: "currency" });

/** One of the currencies. */
export function CurrencyChoice(props: { value: string | undefined; currencies: readonly { code: string }[] }) {
  const { value, currencies } = props;
  const values = currencies.map(({ code }) => [code, `${code} – ${currencyNames.of(code) ?? code}`] as const);
  return <Choice label="Currency" name="currency" value={value} values={values} />;
}
