/** The error of an action, beside the action. */
import { messageOf } from "../rpc.ts";
import { PasskeyFailure } from "./ask-passkey.ts";

/** The person closed the identity prompt: nothing was done, and there is nothing to report. */
export class ProofDeclined extends Error {
  override readonly name = "ProofDeclined";
}

/** The error; empty while there is none. */
export function Refusal({ error }: { error: unknown }) {
  if (!error || error instanceof ProofDeclined) return null;
  return (
    <p className="banner" data-tone="bad" role="alert">
      {error instanceof PasskeyFailure ? error.message : messageOf(error)}
    </p>
  );
}
