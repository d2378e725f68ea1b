/** A labelled text field, with its hint and its validation error. */
import { useId } from "react";
import { FieldError, Input, Label, Text, TextField, type TextFieldProps } from "react-aria-components/TextField";

/** The texts of a field beside its value. */
export type FieldProps = TextFieldProps & {
  label: string;
  hint?: string;
  /** The validation error, where the page itself finds it: it disappears as soon as it no longer applies. */
  problem?: string | undefined;
  /** Shown beside the value, such as its currency. */
  unit?: string;
  /** Values to search while typing. */
  options?: readonly string[];
};

export function Field({ label, hint, problem, unit, options, ...props }: FieldProps) {
  const listId = useId();
  return (
    <TextField {...props} {...(problem && { isInvalid: true })} className="field">
      <Label>{label}</Label>
      <span className="with-unit">
        <Input onInput={reviseProblem} {...(options && { list: listId })} /> {unit}
      </span>
      {options && (
        <datalist id={listId}>
          {options.map((option) => (
            <option key={option} value={option} />
          ))}
        </datalist>
      )}
      {hint && hint !== problem && (
        <Text slot="description" className="hint">
          {hint}
        </Text>
      )}
      <FieldError className="problem">{problem}</FieldError>
    </TextField>
  );
}

/**
 * Validates a field with a problem again at each letter. By default it would be validated on blur: the problem would
 * disappear under a press of the form's button, which then moves away, and the press would miss.
 */
function reviseProblem({ currentTarget }: React.InputEvent<HTMLInputElement>): void {
  if (currentTarget.matches("[data-invalid]")) currentTarget.dispatchEvent(new Event("change", { bubbles: true }));
}
