/** How the page calls the service: typed, as JSON, with the browser's own cookie. And what a refusal means for a person. */
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";

/** The one transport of the page. */
export const transport: Transport = createConnectTransport({ baseUrl: location.origin, defaultTimeoutMs: 20_000 });

/** The service's code of a refusal; `offline` when nobody answered. */
export function codeOf(error: unknown): string {
  const connectError = ConnectError.from(error);
  const reason = connectError.findDetails(ErrorInfoSchema)[0]?.reason;
  if (reason !== undefined) return reason.toLowerCase();
  return connectError.code === Code.Canceled ? "canceled" : "offline";
}

/** A refusal in a sentence for the person at the page. */
export function messageOf(error: unknown): string {
  const code = codeOf(error);
  if (code === "offline") return "The service does not answer. Check your connection, then try again.";
  if (code === "internal") return "Something went wrong on our side. Try again; if it stays so, tell your operator.";
  return ConnectError.from(error).rawMessage;
}
