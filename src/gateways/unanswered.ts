/** What a call means to us when the gateway gave no answer we can use. The same for every connector. */
import type { NotProcessed, Unknown } from "./connector.ts";
import type { GatewayReply } from "./gateway-http.ts";

/** A call that brought no answer, and how far it had got. */
export type Unanswered = Exclude<GatewayReply, { type: "answer" }>;

/** An authorize without an answer: nothing happened when nothing was sent; otherwise anything may have. */
export function unansweredAuthorize(reply: Unanswered): NotProcessed | Unknown {
  return reply.type === "neverSent"
    ? { type: "notProcessed", cause: reply.cause, reason: reply.reason }
    : unansweredChange(reply);
}

/** A capture or void without an answer: asked again either way, so how far it got makes no difference. */
export function unansweredChange(reply: Unanswered): Unknown {
  const { reason } = reply;
  if (reply.type === "neverSent") return { type: "unknown", kind: "GATEWAY_ERROR", reason };
  const { timedOut, lostAtVault } = reply;
  return { type: "unknown", kind: timedOut ? "TIMEOUT" : "GATEWAY_ERROR", reason, ...(lostAtVault && { lostAtVault }) };
}

/** An answer that is broken, undocumented or about something else proves nothing. `status` is all of it that is repeated. */
export function untrusted(status: number): Unknown {
  return { type: "unknown", kind: "GATEWAY_ERROR", reason: `the gateway's answer cannot be trusted (HTTP ${status})` };
}
