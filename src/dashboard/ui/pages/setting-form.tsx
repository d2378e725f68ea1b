/** One setting: as it is, as it is being changed, and what is wrong with it. */
import { useMutation } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { FieldError, Form, Input, Label, Text, TextArea, TextField } from "react-aria-components";
import { Button } from "../parts/button.tsx";
import { useProof } from "../parts/prove.tsx";
import { Refusal } from "../parts/refusal.tsx";
import { codeOf } from "../rpc.ts";

/** What a setting is called, how it is checked, and who writes it. */
export type SettingProps = {
  title: string;
  explanation: string;
  label: string;
  hint: string;
  /** As the service has it. */
  kept: string;
  /** A line for each value. */
  isList?: boolean;
  mayChange: boolean;
  /** What is wrong with a text, if anything is. */
  findProblem: (text: string) => string | undefined;
  save: (text: string) => Promise<unknown>;
  /** Reads what the service has. */
  onChange: () => Promise<unknown>;
  /** Is told when something is unsaved, and when nothing is any more. */
  onUnsaved: (title: string, isUnsaved: boolean) => void;
};

/** The setting's card. */
export function SettingForm(props: SettingProps) {
  const { title, explanation, kept, mayChange, findProblem, save, onChange, onUnsaved } = props;
  const [draft, setDraft] = useState<string>();
  const { run, dialog } = useProof();
  const text = draft ?? kept;
  const isUnsaved = draft !== undefined && draft !== kept;
  useEffect(() => onUnsaved(title, isUnsaved), [onUnsaved, title, isUnsaved]);
  const saving = useMutation({ mutationFn: (wanted: string) => run(() => save(wanted)) });
  const takeKept = async () => {
    await onChange();
    setDraft(undefined);
    saving.reset();
  };
  const submit = async () => {
    await saving.mutateAsync(text);
    await onChange();
    setDraft(undefined);
  };
  const id = title.replaceAll(" ", "-");
  return (
    <section className="card" aria-labelledby={id}>
      <div>
        <h2 id={id}>{title}</h2>
        <p className="soft">{explanation}</p>
      </div>
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
        <Line {...props} text={text} onText={setDraft} findProblem={findProblem} />
        {mayChange && (
          <div className="row">
            <Button kind="main" type="submit" isPending={saving.isPending} isDisabled={!isUnsaved}>
              Save
            </Button>
            {isUnsaved && <Button onPress={() => void takeKept()}>{discardText(saving.error)}</Button>}
            {isUnsaved && <span className="soft small">Not saved yet</span>}
          </div>
        )}
      </Form>
      {dialog}
    </section>
  );
}

function discardText(error: unknown): string {
  return error && codeOf(error) === "state_conflict" ? "Show what is set now" : "Discard";
}

function Line(props: SettingProps & { text: string; onText: (text: string) => void }) {
  const { label, hint, isList, mayChange, text, onText, findProblem } = props;
  return (
    <TextField
      className="field"
      value={text}
      onChange={onText}
      isReadOnly={!mayChange}
      validate={(value) => findProblem(value) ?? null}
    >
      <Label>{label}</Label>
      {isList ? <TextArea rows={4} spellCheck="false" /> : <Input inputMode="numeric" />}
      <Text slot="description" className="hint">
        {hint}
      </Text>
      <FieldError className="problem" />
    </TextField>
  );
}
