/** What a gateway asks for to be connected: entered, never shown again. */
import { useState } from "react";
import type { CredentialField } from "../../../../gen/dashboard/v1/gateways_pb.ts";
import { Field } from "../parts/field.tsx";

type FieldsProps = { fields: readonly CredentialField[]; entered: Entered; onEnter: (entered: Entered) => void };

/** What was entered, by the credentials' names. */
export type Entered = Readonly<Record<string, string>>;

/** A field for each credential. What is entered is hidden as a password is. */
export function CredentialFields({ fields, entered, onEnter }: FieldsProps) {
  const [left, setLeft] = useState<readonly string[]>([]);
  return fields.map(({ name, label, hint, pattern }) => {
    const text = entered[name] ?? "";
    const isWrong = left.includes(name) && text !== "" && !matches(pattern, text);
    return (
      <Field
        key={name}
        label={label}
        hint={hint}
        type="password"
        // Not the member's own password: browsers are to offer neither theirs nor to keep this one.
        autoComplete="one-time-code"
        isRequired
        // The service judges by the same pattern; here it only says so early.
        validationBehavior="aria"
        value={text}
        onChange={(value) => {
          setLeft(left.filter((each) => each !== name));
          onEnter({ ...entered, [name]: value.trim() });
        }}
        onBlur={() => setLeft([...left, name])}
        problem={isWrong ? "This does not look like the gateway's own." : undefined}
      />
    );
  });
}

/** Whether each has the form of the gateway's own. */
export function isWellFormed(fields: readonly CredentialField[], entered: Entered): boolean {
  return fields.every(({ name, pattern }) => matches(pattern, entered[name] ?? ""));
}

function matches(pattern: string, text: string): boolean {
  try {
    return new RegExp(pattern).test(text);
  } catch {
    // A pattern that this browser cannot read: the service checks it anyway.
    return true;
  }
}
