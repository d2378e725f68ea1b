/** One setting: its value, its edit, and its validation error. */
import { useMutation } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Form } from "react-aria-components/Form";
import { FieldError, Input, Label, Text, TextArea, TextField } from "react-aria-components/TextField";
import { Button } from "../parts/button.tsx";
import { useProof } from "../parts/prove.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { codeOf } from "../rpc.ts";

/** A setting's name, its validation and how it is saved. */
export type SettingProps = {
  title: string;
  explanation: string;
  /** The next step with the saved value, shown beside it. */
  note?: string | undefined;
  label: string;
  hint: string;
  /** The value that the service has. */
  kept: string;
  /** True if each line is a value. */
  isList?: boolean;
  /** True if the value is a text; otherwise it is a number. */
  isText?: boolean;
  /** Values that are offered beside the text, each with a box to tick. */
  choices?: { readonly legend: string; readonly values: readonly string[] };
  mayChange: boolean;
  /** Returns the validation error of a text, if any. */
  findProblem: (text: string) => string | undefined;
  save: (text: string, revision: string) => Promise<unknown>;
  /**
   * The revision of the saved value. A change is sent with the revision that it began with, whatever is loaded
   * meanwhile.
   */
  revision: string;
  /** Reloads the service's value. */
  onChange: () => Promise<unknown>;
  /** Called when something becomes unsaved, and when nothing is any more. */
  onUnsaved: (title: string, isUnsaved: boolean) => void;
};

/** The setting's card. */
export function SettingForm(props: SettingProps) {
  const { title, explanation, note, kept, revision, mayChange, findProblem, save, onChange, onUnsaved } = props;
  const [draft, setDraft] = useState<{ text: string; revision: string }>();
  const [wasSubmitted, setSubmitted] = useState(false);
  const { run, dialog } = useProof();
  const text = draft?.text ?? kept;
  const isUnsaved = draft !== undefined && draft.text !== kept;
  useEffect(() => onUnsaved(title, isUnsaved), [onUnsaved, title, isUnsaved]);
  const saving = useMutation({ mutationFn: () => run(() => save(text, draft?.revision ?? revision)) });
  const takeKept = async () => {
    await onChange();
    setDraft(undefined);
    setSubmitted(false);
    saving.reset();
  };
  // Shown when the person saves, and removed as soon as it is right: shown on blur it would move the button under the
  // press.
  const problem = wasSubmitted && isUnsaved ? findProblem(text) : undefined;
  const submit = async () => {
    setSubmitted(true);
    if (findProblem(text) !== undefined) return;
    await saving.mutateAsync();
    await onChange();
    setDraft(undefined);
  };
  const id = title.replaceAll(" ", "-");
  return (
    <section className="card" aria-labelledby={id}>
      <div>
        <h3 id={id}>{title}</h3>
        <p className="soft">{explanation}</p>
      </div>
      {note && <p className="banner">{note}</p>}
      <Refusal error={saving.error} />
      {saving.isSuccess && !isUnsaved && (
        <p className="banner" data-tone="good" role="status">
          Saved.
        </p>
      )}
      <Form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          submit().catch(() => {});
        }}
      >
        <Line
          {...props}
          text={text}
          problem={problem}
          onText={(changed) => setDraft({ text: changed, revision: draft?.revision ?? revision })}
        />
        {props.choices && mayChange && (
          <Choices
            {...props.choices}
            text={text}
            onText={(changed) => setDraft({ text: changed, revision: draft?.revision ?? revision })}
          />
        )}
        {mayChange && (
          <div className="row">
            <Button
              kind="main"
              type="submit"
              isPending={saving.isPending}
              isDisabled={!isUnsaved}
              aria-describedby={`${id}-state`}
            >
              Save
            </Button>
            {isUnsaved && <Button onPress={() => void takeKept()}>{discardText(saving.error)}</Button>}
            <span className="soft small" id={`${id}-state`}>
              {isUnsaved ? "Not saved yet" : saving.isSuccess ? "" : "Nothing changed yet"}
            </span>
          </div>
        )}
      </Form>
      {dialog}
    </section>
  );
}

function discardText(error: unknown): string {
  return error && codeOf(error) === "state_conflict" ? "Show the current value" : "Discard";
}

type LineProps = SettingProps & { text: string; problem: string | undefined; onText: (text: string) => void };

function Line({ label, hint, isList, isText, mayChange, text, problem, onText }: LineProps) {
  return (
    <TextField
      className="field"
      value={text}
      onChange={onText}
      isReadOnly={!mayChange}
      isInvalid={problem !== undefined}
      validationBehavior="aria"
    >
      <Label>{label}</Label>
      {isList ? <TextArea rows={4} spellCheck="false" /> : <Input inputMode={isText ? "text" : "numeric"} />}
      <Text slot="description" className="hint">
        {hint}
      </Text>
      <FieldError className="problem">{problem}</FieldError>
    </TextField>
  );
}

type ChoicesProps = NonNullable<SettingProps["choices"]> & { text: string; onText: (text: string) => void };

/** A box for each value; it is ticked if a line of the text is that value. */
function Choices({ legend, values, text, onText }: ChoicesProps) {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
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
