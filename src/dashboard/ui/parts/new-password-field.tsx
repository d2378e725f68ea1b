import { Field, type FieldProps } from "./field.tsx";

export function NewPasswordField(props: Pick<FieldProps, "label" | "name" | "autoFocus">) {
  return (
    <Field
      hint="12 characters or more. Use a few unrelated words."
      type="password"
      autoComplete="new-password"
      minLength={12}
      maxLength={128}
      isRequired
      {...props}
    />
  );
}
