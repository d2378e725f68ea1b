/** The checks of a connection that say whether its disputes and its statements can be read. Payments need neither. */
import type { GatewayReply } from "../platform/outbound-http.ts";
import type { VerifyRow } from "./connector.ts";

export function disputesRow(reply: GatewayReply, remedy: string): VerifyRow {
  const isRead = reply.type === "answer" && reply.status === 200;
  const why = reply.type === "answer" ? `HTTP ${reply.status}` : reply.reason;
  return {
    check: "disputes",
    state: isRead ? "passed" : "failed",
    required: false,
    detail: isRead ? "The disputes of the account can be read." : `The disputes could not be read (${why}). ${remedy}`,
  };
}

export function statementsRow(reply: GatewayReply, remedy: string): VerifyRow {
  const isRead = reply.type === "answer" && reply.status === 200;
  const why = reply.type === "answer" ? `HTTP ${reply.status}` : reply.reason;
  return {
    check: "settlement",
    state: isRead ? "passed" : "failed",
    required: false,
    detail: isRead ? "The payouts of the account can be read." : `The payouts could not be read (${why}). ${remedy}`,
  };
}
