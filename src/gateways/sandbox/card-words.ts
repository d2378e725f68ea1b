/** Describes in words how a payment with a test card ends, for people who choose one. PURE. */
import type { AttemptOutcome, CardGroup, CardOutcome } from "./card-behaviour.ts";
import { gatewaysOf } from "./outcomes.ts";

export const groupTitles: Readonly<Record<CardGroup, string>> = {
  approved: "Approved",
  failover: "Failover",
  authentication: "3-D Secure",
  declined: "Declined",
  nasty: "Nasty",
  refunds: "Refunds",
  disputes: "Disputes",
  settlement: "Settlement",
  later: "Capture later",
  stored: "Stored cards",
  wallets: "Wallets",
};

/**
 * Returns a text such as "SUCCEEDED via SANDBOX_B, after about 10 s." and, if a hold is voided much later, when that
 * is.
 */
export function endInWords(outcome: CardOutcome): string {
  const { status, declineCode, settledAfterS, closedAfterS } = outcome;
  const how = declineCode === undefined ? ` via ${capturedVia(outcome)}` : ` with ${declineCode}`;
  const when = settledAfterS === undefined ? "" : `, after about ${settledAfterS} s`;
  const late = closedAfterS === undefined ? "" : ` The last hold is voided after about ${closedAfterS} s.`;
  return `${status}${how}${when}.${late}`;
}

/** Returns a text such as "SANDBOX_A VOIDED (TIMEOUT), SANDBOX_B CAPTURED". */
export function attemptsInWords(outcome: CardOutcome): string {
  const gateways = gatewaysOf(outcome);
  return outcome.attempts.map((attempt, index) => `${gateways[index]} ${attemptInWords(attempt)}`).join(", ");
}

function attemptInWords({ status, failureKind, captureRefused }: AttemptOutcome): string {
  const why = failureKind ?? captureRefused;
  return why === undefined ? status : `${status} (${why})`;
}

function capturedVia(outcome: CardOutcome): string | undefined {
  return gatewaysOf(outcome).find((_, index) => outcome.attempts[index]?.status === "CAPTURED");
}
