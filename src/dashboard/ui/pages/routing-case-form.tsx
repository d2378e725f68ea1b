/** The form of one case: its name, its conditions and its gateways. */
import { useEffect, useId, useRef } from "react";
import { RoutingRule_Authentication as Authentication } from "../../../../gen/dashboard/v1/routing_rules_pb.ts";
import { Button } from "../parts/button.tsx";
import { nameOfBrand } from "../parts/card-brand.ts";
import { Field } from "../parts/field.tsx";
import { ownZone, timeZones } from "../parts/time-zones.ts";
import {
  brands,
  type CaseContent,
  type Conditions,
  type Currencies,
  cardTypes,
  days,
  findAmountProblem,
  findCountryProblem,
  findCurrencyProblem,
  findMetadataProblem,
  listIn,
  noConditions,
  type Time,
  type Typed,
  textOfAmount,
  textOfMetadata,
  withCurrencies,
  withTyped,
} from "./routing-case-draft.ts";
import { ConnectionOrder, type Connections } from "./routing-order.tsx";
import { RoutingSplit } from "./routing-split.tsx";

type FormProps = {
  edited: CaseContent;
  place: number;
  connections: Connections;
  /** The currencies that amounts with decimals can be read in. */
  known: Currencies;
  mayChange: boolean;
  onChange: (changed: Partial<CaseContent>) => void;
  onClose: () => void;
};

/** The form. What is typed changes the draft at once. */
export function RoutingCaseForm({ edited, place, connections, known, mayChange, onChange, onClose }: FormProps) {
  const { conditions = noConditions, connectionIds } = edited;
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const set = (changed: Partial<Conditions>) =>
    onChange({ conditions: withTyped({ ...conditions, ...changed }, known) });
  const type = (typed: Typed) => set({ typed: { ...conditions.typed, ...typed } });
  return (
    <section className="case-form" aria-labelledby="case-form">
      <h3 id="case-form" ref={heading} tabIndex={-1}>
        Case {place}
      </h3>
      <fieldset className="form" disabled={!mayChange}>
        <legend className="visually-hidden">Conditions</legend>
        <div className="fields">
          <Field
            label="Name"
            defaultValue={edited.name}
            maxLength={60}
            hint="The attempt trail shows it."
            onChange={(name) => onChange({ name: name.trim() })}
          />
          <PaymentFields
            {...{ conditions, set, type, known }}
            onCurrencies={(codes) => onChange({ conditions: withCurrencies(conditions, codes, known) })}
          />
        </div>
        <Choices
          legend="Card brand"
          all={brands.map((brand) => [brand, nameOfBrand(brand)] as const)}
          chosen={conditions.cardBrands}
          onChange={(cardBrands) => set({ cardBrands })}
        />
        <Choices
          legend="Card type"
          all={cardTypes}
          chosen={conditions.cardTypes}
          onChange={(chosen) => set({ cardTypes: chosen })}
        />
        <Metadata conditions={conditions} type={type} />
        <TimeFields
          time={conditions.time}
          isPart={conditions.typed?.isPartOfHours ?? false}
          onChange={(time, isPartOfHours) => set({ time, typed: { ...conditions.typed, isPartOfHours } })}
        />
      </fieldset>
      <h4 id="case-order">Gateways of this case</h4>
      <ConnectionOrder
        labelledBy="case-order"
        connectionIds={connectionIds}
        connections={connections}
        mayChange={mayChange}
        onChange={(ids) => onChange({ connectionIds: ids })}
      />
      <RoutingSplit
        split={edited.split}
        connectionIds={connectionIds}
        connections={connections}
        mayChange={mayChange}
        onChange={(split) => onChange({ split })}
      />
      <label className="choice">
        <input
          type="checkbox"
          checked={edited.authentication === Authentication.ALWAYS}
          disabled={!mayChange}
          onChange={({ target }) => onChange({ authentication: target.checked ? Authentication.ALWAYS : undefined })}
        />
        <span>
          <strong>Always authenticate the customer</strong>
          <span className="soft small">Of each payment of this case, whatever the rule says below.</span>
        </span>
      </label>
      <div>
        <Button onPress={onClose}>Close</Button>
      </div>
    </section>
  );
}

type TypeProps = { conditions: Conditions; type: (typed: Typed) => void };
type PaymentProps = TypeProps & {
  set: (changed: Partial<Conditions>) => void;
  onCurrencies: (codes: string[]) => void;
  known: Currencies;
};

function PaymentFields({ conditions, set, type, onCurrencies, known }: PaymentProps) {
  const { currencies, amountFromMinor, amountToMinor, issuingCountries, billingCountries, typed = {} } = conditions;
  const amounts = { hint: "Such as 49.00. Needs currencies.", inputMode: "decimal" } as const;
  const inCurrencies = currencies.length === 0 ? "" : ` in ${currencies.join(" or ")}`;
  const shown = (amountMinor: bigint | undefined) => textOfAmount(amountMinor, currencies, known) ?? "";
  const validate = (text: string) => findAmountProblem(text, currencies, known);
  return (
    <>
      <Field
        label="Currencies"
        defaultValue={currencies.join(", ")}
        hint="Such as EUR, CHF."
        validate={findCurrencyProblem}
        onChange={(text) => onCurrencies(listIn(text))}
      />
      <Field
        label={`Lowest amount${inCurrencies}`}
        {...amounts}
        defaultValue={typed.lowest ?? shown(amountFromMinor)}
        validate={validate}
        onChange={(lowest) => type({ lowest })}
      />
      <Field
        label={`Highest amount${inCurrencies}`}
        {...amounts}
        defaultValue={typed.highest ?? shown(amountToMinor)}
        validate={validate}
        onChange={(highest) => type({ highest })}
      />
      <Field
        label="Issuing countries"
        defaultValue={issuingCountries.join(", ")}
        hint="Of the card, by your card ranges."
        validate={findCountryProblem}
        onChange={(text) => set({ issuingCountries: listIn(text) })}
      />
      <Field
        label="Billing countries"
        defaultValue={billingCountries.join(", ")}
        hint="Of the session’s billing address."
        validate={findCountryProblem}
        onChange={(text) => set({ billingCountries: listIn(text) })}
      />
    </>
  );
}

type ChoicesProps<Value> = {
  legend: string;
  all: readonly (readonly [Value, string])[];
  chosen: readonly Value[];
  onChange: (chosen: Value[]) => void;
};

function Choices<Value extends string | number>({ legend, all, chosen, onChange }: ChoicesProps<Value>) {
  return (
    <fieldset className="choices">
      <legend>{legend}</legend>
      {all.map(([value, name]) => (
        <label key={value}>
          <input
            type="checkbox"
            checked={chosen.includes(value)}
            onChange={({ target }) =>
              onChange(target.checked ? [...chosen, value] : chosen.filter((one) => one !== value))
            }
          />
          {name}
        </label>
      ))}
    </fieldset>
  );
}

function Metadata({ conditions: { metadata, typed = {} }, type }: TypeProps) {
  const id = useId();
  const problem = findMetadataProblem(typed.metadata ?? "");
  return (
    <div className="field">
      <label htmlFor={id}>Metadata</label>
      <textarea
        id={id}
        rows={2}
        defaultValue={typed.metadata ?? textOfMetadata(metadata)}
        placeholder="tier = gold | silver"
        aria-describedby={`${id}-hint`}
        aria-invalid={problem !== null}
        onChange={({ target }) => type({ metadata: target.value })}
      />
      <span id={`${id}-hint`} className="hint">
        A line for each key, with the values that meet it.
      </span>
    </div>
  );
}

type TimeProps = {
  time: Time | undefined;
  isPart: boolean;
  onChange: (time: Time | undefined, isPart: boolean) => void;
};

function TimeFields({ time, isPart, onChange }: TimeProps) {
  const id = useId();
  const fields = useRef<HTMLDivElement>(null);
  const { timeZone = ownZone, days: chosen = [], from = "", until = "" } = time ?? {};
  // The value of a field with a part of a time is empty, and typing a part causes no change: leaving the field does.
  const hasPart = () =>
    [...(fields.current?.querySelectorAll("input") ?? [])].some(({ validity }) => validity.badInput);
  const set = (changed: Partial<Time>) => {
    const { days: on, ...whole } = { timeZone, days: chosen, from, until, ...changed };
    const isEmpty = on.length === 0 && !whole.from && !whole.until;
    const hours = { from: whole.from || undefined, until: whole.until || undefined };
    onChange(isEmpty ? undefined : { timeZone: whole.timeZone, days: on, ...hours }, hasPart());
  };
  const leave = () => {
    if (hasPart() !== isPart) set({});
  };
  const hour = (name: "from" | "until", value: string) => (
    <input
      id={`${id}-${name}`}
      type="time"
      value={value}
      onChange={({ target }) => set({ [name]: target.value })}
      onBlur={leave}
    />
  );
  return (
    <>
      <Choices legend="Day of submission" all={days} chosen={chosen} onChange={(on) => set({ days: on })} />
      <div className="fields" ref={fields}>
        <div className="field">
          <label htmlFor={`${id}-from`}>From</label>
          {hour("from", from)}
        </div>
        <div className="field">
          <label htmlFor={`${id}-until`}>Until</label>
          {hour("until", until)}
        </div>
        <div className="field">
          <label htmlFor={`${id}-zone`}>Time zone</label>
          <select id={`${id}-zone`} value={timeZone} onChange={({ target }) => set({ timeZone: target.value })}>
            {[...new Set([timeZone, ...timeZones])].map((zone) => (
              <option key={zone}>{zone}</option>
            ))}
          </select>
        </div>
      </div>
    </>
  );
}
