/** The error of an action, beside the action. */
import { codeOf, messageOf } from "../rpc.ts";
import { WaitingLink } from "./approval-link.tsx";
import { PasskeyFailure } from "./ask-passkey.ts";
import { SecondFactorLink } from "./second-factor-link.tsx";

/** The person closed the identity prompt: nothing was done, and there is nothing to report. */
export class ProofDeclined extends Error {
  override readonly name = "ProofDeclined";
}

/** The error; empty while there is none. `texts`: by the service's code, where a page can say more. */
export function Refusal({ error, texts = {} }: { error: unknown; texts?: Readonly<Record<string, string>> }) {
  if (!error || error instanceof ProofDeclined) return null;
  if (codeOf(error) === "approval_pending") return <WaitingLink />;
  return (
    <p className="banner" data-tone="bad" role="alert">
      {error instanceof PasskeyFailure ? error.message : (texts[codeOf(error)] ?? messageOf(error))}
      {codeOf(error) === "second_factor_required" && (
        <>
          {" "}
          <SecondFactorLink />
        </>
      )}
    </p>
  );
}
