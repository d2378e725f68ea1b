/** The result of a call that verifies credentials at a gateway, check by check, in the service's words. */
import type { VerificationCheck } from "../../../../gen/dashboard/v1/gateway_connections_pb.ts";
import { Badge } from "../parts/badge.tsx";

/** A verification waits for the gateway, and some seconds more for its test notification: longer than other calls. */
export const verificationCall = { timeoutMs: 40_000 };

/** Returns `Raw cards` for `raw_cards`. */
function inWords(check: string): string {
  const words = check.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

type Answer = {
  readonly verified: boolean;
  readonly checks: readonly VerificationCheck[];
  /** Set for existing credentials only; new ones that did not pass are never in use. */
  readonly inUse?: boolean;
};

function verdictOf({ verified, checks, inUse }: Answer): string {
  if (verified) return "Verified: payments can be routed to it.";
  if (inUse)
    return "A required check failed. The credentials stay in use. To stop routing payments to the account, pause it.";
  if (checks.every(({ passed, required }) => passed || !required)) {
    return "These credentials are not in use, because newer ones are.";
  }
  return "Not verified: a required check failed. These credentials are not in use.";
}

/** Each check with its result; announced to a screen reader when it arrives. */
export function VerificationRows({ answer }: { answer: Answer }) {
  return (
    <div className="form" role="status">
      <p className="banner" data-tone={answer.verified ? "good" : "bad"}>
        {verdictOf(answer)}
      </p>
      <ul className="checks">
        {answer.checks.map(({ check, passed, required, detail }) => (
          <li key={check}>
            <Badge tone={passed ? "good" : required ? "bad" : "warn"}>
              {passed ? "Passed" : required ? "Failed" : "Not passed"}
            </Badge>
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
