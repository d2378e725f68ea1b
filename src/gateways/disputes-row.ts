/** The check of a connection that says whether its disputes can be read. Payments need it not. */
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
