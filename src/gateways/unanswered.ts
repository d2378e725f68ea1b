/** Interprets calls without a usable answer. The same for every connector. */

import type { GatewayReply } from "../platform/outbound-http.ts";
import type { GatewayOutcome, NotAnswered, NotProcessed, NotProcessedCause, Unknown } from "./connector.ts";

/** A call without an answer, and how far it had got. */
export type Unanswered = Exclude<GatewayReply, { type: "answer" }>;

/** Interprets an answer of the gateway's own that is documented to mean that nothing was done. */
export function refusedRequest(cause: NotProcessedCause, status: number, code: unknown): NotProcessed {
  const gatewayCode = typeof code === "string" && code !== "" ? code : `http_${status}`;
  return { type: "notProcessed", cause, gatewayCode, reason: `the gateway refused the request (HTTP ${status})` };
}

/** Interprets an authorize without an answer: nothing happened if nothing was sent; otherwise the result is unknown. */
export function unansweredAuthorize(reply: Unanswered): NotProcessed | Unknown {
  return reply.type === "neverSent"
    ? { type: "notProcessed", cause: reply.cause, reason: reply.reason }
    : unansweredChange(reply);
}

/** Interprets a capture, void or refund without an answer: it is repeated, whether or not it was sent. */
export function unansweredChange(reply: Unanswered): Unknown {
  const { reason } = reply;
  if (reply.type === "neverSent") return { type: "unknown", kind: "GATEWAY_ERROR", reason, isNeverSent: true };
  const { timedOut, lostAtVault } = reply;
  return { type: "unknown", kind: timedOut ? "TIMEOUT" : "GATEWAY_ERROR", reason, ...(lostAtVault && { lostAtVault }) };
}

/** Interprets a gateway's answer that leaves open whether it has acted. Only the answer's `status` is repeated. */
export function undecided(status: number): Unknown {
  const reason = `the gateway's answer leaves open what it did (HTTP ${status})`;
  return { type: "unknown", kind: "GATEWAY_ERROR", reason, isAnswered: true };
}

/** Interprets an action that no customer is shown, where that does not rule out a hold: it has to be voided. */
export const unshown: Unknown = {
  type: "unknown",
  kind: "GATEWAY_ERROR",
  reason: "an action that was not permitted, or that cannot be shown",
  isAnswered: true,
};

/** Interprets an answer that a return of anybody's may have caused: it decides nothing. */
export const notAnswered: NotAnswered = { type: "notAnswered" };

/**
 * Reports whether a gateway, or a firewall before it, refused a completing request with this status. The sender of a
 * return chooses its text, and so may cause this. A timeout and a limit of requests (408, 429) say nothing about the
 * text.
 */
export function refusesReturn(status: number): boolean {
  return status >= 400 && status < 500 && !repeatable.has(status);
}
const repeatable = new Set([408, 429]);

/** Replaces an action if the customer cannot be challenged, or was challenged already. */
export function withoutAction(outcome: GatewayOutcome): GatewayOutcome {
  return outcome.type === "actionNeeded" ? unshown : outcome;
}

/**
 * Interprets an answer that is broken, undocumented or about something else: it proves nothing. Only its `status` is
 * repeated.
 */
export function untrusted(status: number): Unknown {
  return { type: "unknown", kind: "GATEWAY_ERROR", reason: `the gateway's answer cannot be trusted (HTTP ${status})` };
}
