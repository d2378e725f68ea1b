/** A labelled line of text, with its rule and what is wrong with it. */
import { FieldError, Input, Label, Text, TextField, type TextFieldProps } from "react-aria-components";

/** What a field says beside its value. */
export type FieldProps = TextFieldProps & {
  label: string;
  hint?: string;
  /** What is wrong with it, where the page finds that out itself: then it goes as soon as it is no more. */
  problem?: string | undefined;
};

/** A field. */
export function Field({ label, hint, problem, ...props }: FieldProps) {
  return (
    <TextField {...props} {...(problem && { isInvalid: true })} className="field">
      <Label>{label}</Label>
      <Input />
      {hint && (
        <Text slot="description" className="hint">
          {hint}
        </Text>
      )}
      <FieldError className="problem">{problem}</FieldError>
    </TextField>
  );
}
