/** The form of a list's filters, which are kept in the address, and its fields. */
import { type ReactNode, useId, useState } from "react";
import { minorOf } from "../payment-address.ts";
import { Button } from "./button.tsx";
import { SelectField } from "./field.tsx";
import { decimalOf, readAmount, typedOf } from "./minor-units.ts";
import { Panel } from "./panel.tsx";

/** The form, in a panel that opens. `used`: the filters in use; `onApply` gets the fields by their names. */
export function FilterForm(props: {
  used: object;
  onApply: (fields: Record<string, unknown>) => unknown;
  onClear: () => unknown;
  children: ReactNode;
}) {
  const count = Object.keys(props.used).length;
  return (
    <>
      <Panel className="filter-form" name={count === 0 ? "Filters" : count === 1 ? "1 filter" : `${count} filters`}>
        {(close) => (
          <form
            key={JSON.stringify(props.used)}
            onSubmit={(event) => {
              event.preventDefault();
              close();
              props.onApply(Object.fromEntries(new FormData(event.currentTarget)));
            }}
          >
            {props.children}
            <div className="row">
              <Button kind="main" type="submit">
                Apply
              </Button>
            </div>
          </form>
        )}
      </Panel>
      {count > 0 && (
        <Button kind="plain" aria-label="Clear all filters" onPress={() => props.onClear()}>
          ✕
        </Button>
      )}
    </>
  );
}

export function Choice(props: {
  label: string;
  name: string;
  value: string | undefined;
  values: readonly (readonly [string, string])[];
  onChange?: (value: string) => void;
}) {
  const { value: chosen, values } = props;
  // The chosen value is listed at once, even before its name is loaded.
  const isKnown = chosen === undefined || values.some(([value]) => value === chosen);
  return (
    <SelectField
      label={props.label}
      name={props.name}
      defaultValue={chosen ?? ""}
      onChange={({ target }) => props.onChange?.(target.value)}
      values={[["", "Any"], ...(isKnown ? [] : [[chosen, chosen] as const]), ...values]}
    />
  );
}

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

const currencyNames = new Intl.DisplayNames(undefined, { type: "currency" });

/** The currency of a list, and in it the smallest and the largest amount. The form is not sent with an amount that is none. */
export function AmountFields(props: {
  currency: string | undefined;
  from: number | undefined;
  to: number | undefined;
  currencies: readonly { readonly code: string; readonly exponent: number }[];
}) {
  const { currencies } = props;
  const [currency, setCurrency] = useState(props.currency ?? "");
  const known = currencies.find(({ code }) => code === currency);
  const values = currencies.map(({ code }) => [code, `${code} – ${currencyNames.of(code) ?? code}`] as const);
  return (
    <>
      <Choice label="Currency" name="currency" value={props.currency} values={values} onChange={setCurrency} />
      <AmountBox label="Amount from" name="from" value={props.from} unit={known} />
      <AmountBox label="Amount to" name="to" value={props.to} unit={known} />
    </>
  );
}

type BoxProps = {
  label: string;
  name: string;
  value: number | undefined;
  unit: { readonly code: string; readonly exponent: number } | undefined;
};

/** An amount as a person types it; the form sends it as a plain decimal number. */
function AmountBox({ label, name, value, unit }: BoxProps) {
  const id = useId();
  const [edited, setEdited] = useState<string>();
  const exponent = unit?.exponent ?? 0;
  const applied = unit && minorOf(value, exponent);
  const text =
    edited ?? (applied === undefined ? (value?.toString() ?? "") : typedOf({ amountMinor: applied, exponent }));
  const typed = unit && readAmount(text, { currency: unit.code, exponent });
  const isEmpty = text.trim() === "";
  const problem = typed?.type === "problem" ? typed.problem : unit ? "" : "Choose the currency of the amount.";
  return (
    <div className="field">
      <label htmlFor={id}>{unit ? `${label} (${unit.code})` : label}</label>
      <input
        id={id}
        ref={(input) => input?.setCustomValidity(isEmpty ? "" : problem)}
        value={text}
        inputMode="decimal"
        autoComplete="off"
        onChange={({ target }) => setEdited(target.value)}
      />
      <input
        type="hidden"
        name={name}
        value={typed?.type === "amount" && !isEmpty ? decimalOf({ amountMinor: typed.amountMinor, exponent }) : ""}
      />
    </div>
  );
}
