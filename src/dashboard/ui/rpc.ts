/** Typed JSON calls to the service, with the browser's own cookie, and messages for its errors. */
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { BadRequestSchema, ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";

/** The one transport of the page. */
export const transport: Transport = createConnectTransport({ baseUrl: location.origin, defaultTimeoutMs: 20_000 });

/** Returns the service's error code; `offline` if there was no answer. */
export function codeOf(error: unknown): string {
  const connectError = ConnectError.from(error);
  const reason = connectError.findDetails(ErrorInfoSchema)[0]?.reason;
  if (reason !== undefined) return reason.toLowerCase();
  return connectError.code === Code.Canceled ? "canceled" : "offline";
}

/**
 * Returns the service's errors of single fields, by their names in the request; a form's fields have the same names.
 */
export function fieldProblemsOf(error: unknown): Record<string, string> {
  const [refused] = error ? ConnectError.from(error).findDetails(BadRequestSchema) : [];
  return Object.fromEntries((refused?.fieldViolations ?? []).map(({ field, description }) => [field, description]));
}

/** Returns the message of an error for the person at the page. */
export function messageOf(error: unknown): string {
  const code = codeOf(error);
  if (code === "offline") return "The service does not answer. Check your connection, then try again.";
  if (code === "internal") return "Something went wrong on our side. Try again; if it persists, contact your operator.";
  return ConnectError.from(error).rawMessage;
}
