/** What a live test call at a gateway showed, check by check, as the service says it. */
import type { VerificationCheck } from "../../../../gen/dashboard/v1/gateway_connections_pb.ts";

/** A test call waits for the gateway, and some seconds more for its test notice: longer than other calls. */
export const testCall = { timeoutMs: 40_000 };

/** `raw_cards` as `Raw cards`. */
function inWords(check: string): string {
  const words = check.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Each check with its result; said to a screen reader when it comes. */
export function VerificationRows({ answer }: { answer: { verified: boolean; checks: readonly VerificationCheck[] } }) {
  return (
    <div className="form" role="status">
      <p className="banner" data-tone={answer.verified ? "good" : "bad"}>
        {answer.verified
          ? "Verified: payments can be routed to it."
          : "Not verified: a check that is required did not pass, and these credentials are not in use."}
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
