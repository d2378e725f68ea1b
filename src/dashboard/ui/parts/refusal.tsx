/** What went wrong with an action, beside the action. */
import { messageOf } from "../rpc.ts";
import { ProofDeclined } from "./prove.tsx";

/** Nothing while nothing is wrong. */
export function Refusal({ error }: { error: unknown }) {
  if (!error || error instanceof ProofDeclined) return null;
  return (
    <p className="banner" data-tone="bad" role="alert">
      {messageOf(error)}
    </p>
  );
}
