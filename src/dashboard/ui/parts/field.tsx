/** Forms, and labelled text fields with their hints and validation errors. */
import { useId } from "react";
import { Form, type FormProps } from "react-aria-components/Form";
import { FieldError, Input, Label, Text, TextField, type TextFieldProps } from "react-aria-components/TextField";

/** A form that stays on its page: `onData` gets the fields when they are sent. */
export function DataForm({ onData, ...props }: FormProps & { onData: (fields: FormData) => unknown }) {
  return (
    <Form
      className="form"
      {...props}
      onSubmit={(event) => {
        event.preventDefault();
        onData(new FormData(event.currentTarget));
      }}
    />
  );
}

export type FieldProps = TextFieldProps & {
  label: string;
  hint?: string;
  /** The validation error, where the page itself finds it: it disappears as soon as it no longer applies. */
  problem?: string | undefined;
  /** Shown beside the value, such as its currency. */
  unit?: string;
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

type SelectProps = React.SelectHTMLAttributes<HTMLSelectElement> & {
  label: string;
  hint?: string;
  values: readonly (readonly [value: string | number, name: string])[];
};

export function SelectField({ label, hint, values, ...props }: SelectProps) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select id={id} {...props}>
        {values.map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
      {hint && <span className="hint">{hint}</span>}
    </div>
  );
}
