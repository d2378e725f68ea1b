/** A labelled line of text, with its rule and what is wrong with it. */
import { FieldError, Input, Label, Text, TextField, type TextFieldProps } from "react-aria-components";

/** What a field says beside its value. */
export type FieldProps = TextFieldProps & { label: string; hint?: string };

/** A field. */
export function Field({ label, hint, ...props }: FieldProps) {
  return (
    <TextField {...props} className="field">
      <Label>{label}</Label>
      <Input />
      {hint && (
        <Text slot="description" className="hint">
          {hint}
        </Text>
      )}
      <FieldError className="problem" />
    </TextField>
  );
}
