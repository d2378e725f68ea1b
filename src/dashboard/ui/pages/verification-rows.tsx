/** What a live test call at a gateway showed, check by check, as the service says it. */
import type { VerificationCheck } from "../../../../gen/dashboard/v1/gateway_connections_pb.ts";

/** A test call waits for the gateway, and some seconds more for its test notice: longer than other calls. */
export const testCall = { timeoutMs: 40_000 };

/** `raw_cards` as `Raw cards`. */
function inWords(check: string): string {
  const words = check.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

type Answer = {
  readonly verified: boolean;
  readonly checks: readonly VerificationCheck[];
  /** Told of credentials that were there before; new ones that did not pass are never in use. */
  readonly inUse?: boolean;
};

function verdictOf({ verified, checks, inUse }: Answer): string {
  if (verified) return "Verified: payments can be routed to it.";
  if (inUse)
    return "A check that is required did not pass. The credentials stay in use; pause the account to leave it out.";
  if (checks.every(({ passed, required }) => passed || !required)) {
    return "These credentials are not in use: newer credentials are in use already.";
  }
  return "Not verified: a check that is required did not pass, and these credentials are not in use.";
}

/** Each check with its result; said to a screen reader when it comes. */
export function VerificationRows({ answer }: { answer: Answer }) {
  return (
    <div className="form" role="status">
      <p className="banner" data-tone={answer.verified ? "good" : "bad"}>
        {verdictOf(answer)}
      </p>
      <ul className="checks">
        {answer.checks.map(({ check, passed, required, detail }) => (
          <li key={check}>
            <span className="badge" data-tone={passed ? "good" : required ? "bad" : "warn"}>
              {passed ? "Passed" : required ? "Failed" : "Not passed"}
            </span>
            <span>
              <strong>{inWords(check)}</strong>
              {!required && <span className="soft small"> · not required</span>}
              <span className="small soft detail">{detail}</span>
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}
