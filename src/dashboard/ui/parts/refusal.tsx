/** What went wrong with an action, beside the action. */
import { messageOf } from "../rpc.ts";
import { PasskeyFailure } from "./ask-passkey.ts";

/** The person closed the question who they are: nothing was done, and nothing needs to be said. */
export class ProofDeclined extends Error {
  override readonly name = "ProofDeclined";
}

/** Nothing while nothing is wrong. */
export function Refusal({ error }: { error: unknown }) {
  if (!error || error instanceof ProofDeclined) return null;
  return (
    <p className="banner" data-tone="bad" role="alert">
      {error instanceof PasskeyFailure ? error.message : messageOf(error)}
    </p>
  );
}
