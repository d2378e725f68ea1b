/** What a gateway asks for to be connected: entered, never shown again. */
import type { CredentialField } from "../../../../gen/dashboard/v1/gateways_pb.ts";
import { Field } from "../parts/field.tsx";

/** A field for each credential. What is entered is hidden as a password is. */
export function CredentialFields({ fields }: { fields: readonly CredentialField[] }) {
  return fields.map(({ name, label, hint, pattern }) => (
    <Field
      key={name}
      label={label}
      name={`credential ${name}`}
      hint={hint}
      type="password"
      // Not the member's own password: browsers are to offer neither theirs nor to keep this one.
      autoComplete="one-time-code"
      isRequired
      validate={(text) => (text === "" || matches(pattern, text) ? null : "This does not look like the gateway's own.")}
    />
  ));
}

/** The credentials by their names, as they were entered. */
export function readCredentials(form: FormData, fields: readonly CredentialField[]): Record<string, string> {
  return Object.fromEntries(fields.map(({ name }) => [name, String(form.get(`credential ${name}`) ?? "").trim()]));
}

function matches(pattern: string, text: string): boolean {
  try {
    return new RegExp(pattern).test(text.trim());
  } catch {
    // A pattern that this browser cannot read: the service checks it anyway.
    return true;
  }
}
