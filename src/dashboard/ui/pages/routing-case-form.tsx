/** The form of one case: its name, its conditions and its gateways. */
import { type ReactNode, useEffect, useId, useRef } from "react";
import { RoutingRule_Authentication as Authentication } from "../../../../gen/dashboard/v1/routing_rules_pb.ts";
import { Button } from "../parts/button.tsx";
import { nameOfBrand } from "../parts/card-brand.ts";
import { Field } from "../parts/field.tsx";
import { isZone, ownZone, timeZones } from "../parts/time-zones.ts";
import {
  brands,
  type CaseContent,
  type ConditionKind,
  type Conditions,
  type Currencies,
  cardTypes,
  conditionKinds,
  days,
  findAmountProblem,
  findCountryProblem,
  findCurrencyProblem,
  findMetadataProblem,
  kindsIn,
  listIn,
  noConditions,
  type Time,
  type Typed,
  textOfAmount,
  textOfMetadata,
  withCondition,
  withCurrencies,
  withoutCondition,
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

/** The form. Typing changes the draft at once. Conditions are added and removed one by one. */
export function RoutingCaseForm({ edited, place, connections, known, mayChange, onChange, onClose }: FormProps) {
  const { conditions = noConditions, connectionIds } = edited;
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return (
    <section className="case-form" aria-labelledby="case-form">
      <h3 id="case-form" ref={heading} tabIndex={-1}>
        Case {place}
      </h3>
      <fieldset className="form" disabled={!mayChange}>
        <legend className="visually-hidden">Conditions</legend>
        <Field
          label="Name"
          defaultValue={edited.name}
          maxLength={60}
          hint="The attempt trail shows it."
          onChange={(name) => onChange({ name: name.trim() })}
        />
        <ConditionList
          conditions={conditions}
          known={known}
          mayChange={mayChange}
          onChange={(changed) => onChange({ conditions: withTyped(changed, known) })}
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
          <span className="soft small">Of each payment of this case, whatever the rule says under Authentication.</span>
        </span>
      </label>
      <div>
        <Button onPress={onClose}>Close</Button>
      </div>
    </section>
  );
}

type ListProps = {
  conditions: Conditions;
  known: Currencies;
  mayChange: boolean;
  onChange: (conditions: Conditions) => void;
};

function ConditionList({ conditions, known, mayChange, onChange }: ListProps) {
  const list = useRef<HTMLDivElement>(null);
  // A condition that is added gets the focus, and one that is removed leaves it to the button that adds it again.
  const next = useRef<string>(undefined);
  useEffect(() => {
    const found = next.current && list.current?.querySelector<HTMLElement>(next.current);
    next.current = undefined;
    if (found) found.focus();
  });
  const kinds = kindsIn(conditions);
  const absent = conditionKinds.filter(([kind]) => !kinds.includes(kind));
  return (
    <div className="form" ref={list}>
      {conditionKinds
        .filter(([kind]) => kinds.includes(kind))
        .map(([kind, name], index) => {
          const Fields = fieldsOf[kind];
          return (
            // biome-ignore lint/a11y/useSemanticElements: a fieldset would repeat the name of the field in it
            <div className="condition" key={kind} role="group" aria-label={name} data-kind={kind}>
              <span className="soft">{index === 0 ? "If" : "and"}</span>
              <div className="fields">
                <Fields
                  conditions={conditions}
                  known={known}
                  onChange={(changed) => onChange(withCondition(conditions, kind, changed))}
                />
              </div>
              {mayChange && (
                <Button
                  kind="plain"
                  aria-label={`Remove ${name}`}
                  onPress={() => {
                    next.current = `[data-add="${kind}"]`;
                    onChange(withoutCondition(conditions, kind));
                  }}
                >
                  Remove
                </Button>
              )}
            </div>
          );
        })}
      {mayChange && absent.length > 0 && (
        <fieldset className="additions">
          <legend>{kinds.length === 0 ? "Add a condition" : "Add another condition: all must be met"}</legend>
          {absent.map(([kind, name]) => (
            <Button
              key={kind}
              data-add={kind}
              onPress={() => {
                next.current = `[data-kind="${kind}"] :is(input, textarea)`;
                onChange(withCondition(conditions, kind, {}));
              }}
            >
              {name}
            </Button>
          ))}
        </fieldset>
      )}
    </div>
  );
}

type FieldsProps = {
  conditions: Conditions;
  known: Currencies;
  onChange: (changed: Partial<Conditions>) => void;
};

const fieldsOf: Readonly<Record<ConditionKind, (props: FieldsProps) => ReactNode>> = {
  money: MoneyFields,
  brand: ({ conditions: { cardBrands }, onChange }) => (
    <Choices
      legend="Card brand"
      all={brands.map((brand) => [brand, nameOfBrand(brand)] as const)}
      chosen={cardBrands}
      onChange={(chosen) => onChange({ cardBrands: chosen })}
    />
  ),
  type: ({ conditions: { cardTypes: chosen }, onChange }) => (
    <Choices legend="Card type" all={cardTypes} chosen={chosen} onChange={(on) => onChange({ cardTypes: on })} />
  ),
  issuer: ({ conditions: { issuingCountries }, onChange }) => (
    <Field
      label="Issuing countries"
      defaultValue={issuingCountries.join(", ")}
      hint="Of the card, by your card ranges."
      validate={findCountryProblem}
      onChange={(text) => onChange({ issuingCountries: listIn(text) })}
    />
  ),
  billing: ({ conditions: { billingCountries }, onChange }) => (
    <Field
      label="Billing countries"
      defaultValue={billingCountries.join(", ")}
      hint="Of the session’s billing address."
      validate={findCountryProblem}
      onChange={(text) => onChange({ billingCountries: listIn(text) })}
    />
  ),
  metadata: Metadata,
  time: TimeFields,
};

function MoneyFields({ conditions, known, onChange }: FieldsProps) {
  const { currencies, amountFromMinor, amountToMinor, typed = {} } = conditions;
  const type = (changed: Typed) => onChange({ typed: { ...typed, ...changed } });
  const unit = currencies.join("/");
  const shown = (amountMinor: bigint | undefined) => textOfAmount(amountMinor, currencies, known) ?? "";
  const validate = (text: string) => findAmountProblem(text, currencies, known);
  const amounts = { unit, validate, inputMode: "decimal" } as const;
  return (
    <>
      <Field
        label="Currencies"
        defaultValue={currencies.join(", ")}
        hint="Such as EUR, CHF."
        validate={findCurrencyProblem}
        onChange={(text) => onChange(withCurrencies(conditions, listIn(text), known))}
      />
      <Field
        label="Lowest amount"
        {...amounts}
        hint="Such as 49.00, or empty."
        defaultValue={typed.lowest ?? shown(amountFromMinor)}
        onChange={(lowest) => type({ lowest })}
      />
      <Field
        label="Highest amount"
        {...amounts}
        hint="Empty for no limit."
        defaultValue={typed.highest ?? shown(amountToMinor)}
        onChange={(highest) => type({ highest })}
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

function Metadata({ conditions: { metadata, typed = {} }, onChange }: FieldsProps) {
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
        onChange={({ target }) => onChange({ typed: { ...typed, metadata: target.value } })}
      />
      <span id={`${id}-hint`} className="hint">
        A line for each key, with the values that meet it.
      </span>
    </div>
  );
}

function TimeFields({ conditions: { time, typed }, onChange }: FieldsProps) {
  const id = useId();
  const fields = useRef<HTMLDivElement>(null);
  const { timeZone = ownZone, days: chosen = [], from = "", until = "" } = time ?? {};
  // The value of a field with a part of a time is empty, and typing a part causes no change: leaving the field does.
  const hasPart = () =>
    [...(fields.current?.querySelectorAll("input") ?? [])].some(({ validity }) => validity.badInput);
  const set = (changed: Partial<Time>) => {
    const { days: on, ...whole } = { timeZone, days: chosen, from, until, ...changed };
    const hours = { from: whole.from || undefined, until: whole.until || undefined };
    onChange({
      time: { timeZone: whole.timeZone, days: on, ...hours },
      typed: { ...typed, isPartOfHours: hasPart() },
    });
  };
  const leave = () => {
    if (hasPart() !== (typed?.isPartOfHours ?? false)) set({});
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
        <Field
          label="Time zone"
          value={timeZone}
          options={timeZones}
          autoComplete="off"
          hint="Type a part of its name, such as Berlin."
          problem={isZone(timeZone) ? undefined : "Choose one of the list, such as Europe/Berlin."}
          onChange={(zone) => set({ timeZone: zone })}
        />
      </div>
    </>
  );
}
