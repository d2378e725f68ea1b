/** The form of one case: its name, its conditions and its gateways. */
import { useEffect, useId, useRef } from "react";
import { Button } from "../parts/button.tsx";
import { nameOfBrand } from "../parts/card-brand.ts";
import { Field } from "../parts/field.tsx";
import { ownZone, timeZones } from "../parts/time-zones.ts";
import {
  brands,
  type CaseContent,
  type Conditions,
  cardTypes,
  days,
  listIn,
  metadataIn,
  noConditions,
  type Time,
  textOfMetadata,
} from "./routing-case-draft.ts";
import { ConnectionOrder, type Connections } from "./routing-order.tsx";
import { RoutingSplit } from "./routing-split.tsx";

type FormProps = {
  edited: CaseContent;
  place: number;
  connections: Connections;
  mayChange: boolean;
  onChange: (changed: Partial<CaseContent>) => void;
  onClose: () => void;
};

/** The form. What is typed changes the draft at once. */
export function RoutingCaseForm({ edited, place, connections, mayChange, onChange, onClose }: FormProps) {
  const { conditions = noConditions, connectionIds } = edited;
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const set = (changed: Partial<Conditions>) => onChange({ conditions: { ...conditions, ...changed } });
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
          <PaymentFields conditions={conditions} set={set} />
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
        <Metadata conditions={conditions} set={set} />
        <TimeFields time={conditions.time} onChange={(time) => set({ time })} />
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
      <div>
        <Button onPress={onClose}>Close</Button>
      </div>
    </section>
  );
}

type ConditionProps = { conditions: Conditions; set: (changed: Partial<Conditions>) => void };

const countries = (text: string) =>
  listIn(text).every((code) => /^[A-Z]{2}$/.test(code)) ? null : "Two letters each, such as DE, AT.";
const amount = (text: string) =>
  text === "" || /^[1-9]\d{0,11}$/.test(text) ? null : "A whole number: 4900 is 49.00 EUR.";
const amountIn = (text: string) => (/^[1-9]\d{0,11}$/.test(text) ? BigInt(text) : undefined);

function PaymentFields({ conditions, set }: ConditionProps) {
  const { currencies, amountFromMinor, amountToMinor, issuingCountries, billingCountries } = conditions;
  return (
    <>
      <Field
        label="Currencies"
        defaultValue={currencies.join(", ")}
        hint="Such as EUR, CHF."
        validate={(text) =>
          listIn(text).every((code) => /^[A-Z]{3}$/.test(code)) ? null : "Three letters each, such as EUR, CHF."
        }
        onChange={(text) => set({ currencies: listIn(text) })}
      />
      <Field
        label="Lowest amount"
        inputMode="numeric"
        defaultValue={String(amountFromMinor ?? "")}
        hint="In minor units; needs currencies."
        validate={amount}
        onChange={(text) => set({ amountFromMinor: amountIn(text) })}
      />
      <Field
        label="Highest amount"
        inputMode="numeric"
        defaultValue={String(amountToMinor ?? "")}
        hint="In minor units; needs currencies."
        validate={amount}
        onChange={(text) => set({ amountToMinor: amountIn(text) })}
      />
      <Field
        label="Issuing countries"
        defaultValue={issuingCountries.join(", ")}
        hint="Of the card, by your card ranges."
        validate={countries}
        onChange={(text) => set({ issuingCountries: listIn(text) })}
      />
      <Field
        label="Billing countries"
        defaultValue={billingCountries.join(", ")}
        hint="Of the session’s billing address."
        validate={countries}
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

function Metadata({ conditions: { metadata }, set }: ConditionProps) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>Metadata</label>
      <textarea
        id={id}
        rows={2}
        defaultValue={textOfMetadata(metadata)}
        placeholder="tier = gold | silver"
        aria-describedby={`${id}-hint`}
        onChange={({ target }) => set({ metadata: metadataIn(target.value) })}
      />
      <span id={`${id}-hint`} className="hint">
        A line for each key, with the values that meet it.
      </span>
    </div>
  );
}

function TimeFields({ time, onChange }: { time: Time | undefined; onChange: (time: Time | undefined) => void }) {
  const id = useId();
  const { timeZone = ownZone, days: chosen = [], from = "", until = "" } = time ?? {};
  const set = (changed: Partial<Time>) => {
    const { days: on, ...whole } = { timeZone, days: chosen, from, until, ...changed };
    const isEmpty = on.length === 0 && !whole.from && !whole.until;
    const hours = { from: whole.from || undefined, until: whole.until || undefined };
    onChange(isEmpty ? undefined : { timeZone: whole.timeZone, days: on, ...hours });
  };
  return (
    <>
      <Choices legend="Day of submission" all={days} chosen={chosen} onChange={(on) => set({ days: on })} />
      <div className="fields">
        <div className="field">
          <label htmlFor={`${id}-from`}>From</label>
          <input id={`${id}-from`} type="time" value={from} onChange={({ target }) => set({ from: target.value })} />
        </div>
        <div className="field">
          <label htmlFor={`${id}-until`}>Until</label>
          <input id={`${id}-until`} type="time" value={until} onChange={({ target }) => set({ until: target.value })} />
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
