/** A setting as a row: its name and purpose, beside its value. */
import { type ReactNode, useState } from "react";
import { FieldError, Input, Label, Text, TextArea, TextField } from "react-aria-components/TextField";
import { Button } from "../parts/button.tsx";
import { DataForm, Field } from "../parts/field.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { rowId, type Setting, useSettingDrafts } from "./setting-drafts.tsx";
import { findLimitProblem } from "./setting-rules.ts";

export function Row({ title, explanation, children }: { title: string; explanation: ReactNode; children: ReactNode }) {
  const id = rowId(title);
  return (
    <section className="setting" aria-labelledby={id}>
      <div>
        <h3 id={id}>{title}</h3>
        <p className="soft small">{explanation}</p>
      </div>
      <div className="form">{children}</div>
    </section>
  );
}

export type Edit = {
  readonly text: string;
  readonly problem: string | undefined;
  readonly isDisabled: boolean;
  readonly onText: (text: string) => void;
};

type SettingProps = Setting & {
  explanation: ReactNode;
  mayChange: boolean;
  /** The next step with the saved value, shown beside it. */
  note?: string | undefined;
  children: (edit: Edit) => ReactNode;
};

export function SettingRow({ explanation, mayChange, note, children, ...setting }: SettingProps) {
  const { draftOf, change, isChecked, failed, submit } = useSettingDrafts();
  const draft = draftOf(setting.title);
  const text = draft?.text ?? setting.kept;
  const problem = isChecked && draft ? setting.findProblem?.(text) : undefined;
  return (
    <Row title={setting.title} explanation={explanation}>
      {note && <p className="banner">{note}</p>}
      {failed?.title === setting.title && <Refusal error={failed.error} />}
      <DataForm onData={submit}>
        {children({ text, problem, isDisabled: !mayChange, onText: (changed) => change(setting, changed) })}
      </DataForm>
    </Row>
  );
}

type LineProps = Edit & { label: string; hint: string; unit?: string; isList?: boolean; isText?: boolean };

/** The field of a text, a number or a list of lines, with its unit beside it. */
export function Line({ label, hint, unit, isList, isText, isDisabled, text, problem, onText }: LineProps) {
  return (
    <TextField
      className="field"
      value={text}
      onChange={onText}
      isReadOnly={isDisabled}
      isInvalid={problem !== undefined}
      validationBehavior="aria"
    >
      <Label>{label}</Label>
      {isList ? (
        <TextArea rows={3} spellCheck="false" />
      ) : (
        <span className="with-unit">
          <Input inputMode={isText ? "text" : "numeric"} data-short={isText ? undefined : ""} /> {unit}
        </span>
      )}
      <Text slot="description" className="hint">
        {hint}
      </Text>
      <FieldError className="problem">{problem}</FieldError>
    </TextField>
  );
}

const linesIn = (text: string) => text.split("\n").filter((line) => line.trim() !== "");

/** A box for each value; it is ticked if a line of the text is that value. */
export function Choices({ legend, values, text, onText }: Edit & { legend: string; values: readonly string[] }) {
  const lines = linesIn(text);
  const isIn = (value: string) => lines.some((line) => line.trim() === value);
  return (
    <fieldset className="event-types">
      <legend>{legend}</legend>
      {values.map((value) => (
        <label key={value} className="tick">
          <input
            type="checkbox"
            checked={isIn(value)}
            onChange={({ target }) =>
              onText((target.checked ? [...lines, value] : lines.filter((line) => line.trim() !== value)).join("\n"))
            }
          />
          <bdi>{value}</bdi>
        </label>
      ))}
    </fieldset>
  );
}

type AmountsProps = Edit & {
  currencies: readonly { readonly code: string; readonly exponent: number }[];
  /** The meaning of an empty list. */
  none?: string;
};

/** An amount for each currency, as lines of the text: the field, and its currency beside it. */
export function Amounts({ text, problem, isDisabled, onText, currencies, none = "No limit." }: AmountsProps) {
  const [added, setAdded] = useState("");
  const [isRefused, setRefused] = useState(false);
  const lines = linesIn(text);
  const codeOf = (line: string) => line.split(" ", 1)[0]!;
  const free = currencies.map(({ code }) => code).filter((code) => !lines.some((line) => codeOf(line) === code));
  const put = (changed: string, at: number) => onText(lines.with(at, changed).join("\n"));
  const add = () => {
    const code = added.trim().toUpperCase();
    setRefused(!free.includes(code));
    if (!free.includes(code)) return;
    onText([...lines, `${code} `].join("\n"));
    setAdded("");
  };
  return (
    <>
      {lines.map((line, index) => {
        const code = codeOf(line);
        return (
          <div className="amount-line" key={code}>
            <Field
              label={`Limit in ${code}`}
              unit={code}
              inputMode="decimal"
              value={line.slice(code.length + 1)}
              isReadOnly={isDisabled}
              problem={problem === undefined ? undefined : findLimitProblem(line, currencies)}
              onChange={(amount) => put(`${code} ${amount}`, index)}
            />
            {!isDisabled && (
              <Button
                kind="plain"
                aria-label={`Remove the limit in ${code}`}
                onPress={() => onText(lines.toSpliced(index, 1).join("\n"))}
              >
                Remove
              </Button>
            )}
          </div>
        );
      })}
      {lines.length === 0 && <p>{none}</p>}
      {!isDisabled && (
        <div className="amount-line">
          <Field
            label="Currency of a new limit"
            value={added}
            options={free}
            maxLength={3}
            autoComplete="off"
            problem={isRefused ? "Choose a currency without a limit, such as EUR." : undefined}
            onChange={(code) => {
              setAdded(code);
              setRefused(false);
            }}
          />
          <Button onPress={add}>Add a limit</Button>
        </div>
      )}
    </>
  );
}
