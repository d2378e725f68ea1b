/** The credentials that a gateway takes: entered, never shown again. */
import type { CredentialField } from "../../../../gen/dashboard/v1/gateways_pb.ts";
import { Field } from "../parts/field.tsx";

// The prefix of the field names in the service's errors.
const prefix = "credentials.";

/** Form fields, one for each credential. The input is hidden like a password; the service validates it. */
export function CredentialFields({ fields }: { fields: readonly CredentialField[] }) {
  return fields.map(({ name, label, hint, isOptional }) => (
    <Field
      key={name}
      name={prefix + name}
      label={label}
      hint={hint}
      type="password"
      // This is not the member's own password: browsers should neither fill in theirs nor store this one.
      autoComplete="one-time-code"
      isRequired={!isOptional}
    />
  ));
}

export function credentialsOf(form: FormData): Record<string, string> {
  const entries = [...form].filter(([name]) => name.startsWith(prefix));
  return Object.fromEntries(entries.map(([name, value]) => [name.slice(prefix.length), String(value).trim()]));
}
