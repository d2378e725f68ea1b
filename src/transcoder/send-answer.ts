/** Writes one complete answer, once. */
import type { ServerResponse } from "node:http";

/** A whole answer. The body is JSON text; empty for none. */
export type Answer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string;
};

/**
 * Sends an answer in one write with its length. Headers that were set on the response before stay. For HEAD, node
 * leaves out the body and keeps its length. Does nothing if the client has disconnected or an answer has begun.
 */
export function sendAnswer(response: ServerResponse, { status, headers, body }: Answer): void {
  if (response.destroyed || response.headersSent) return;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.statusCode = status;
  if (body === "") {
    response.removeHeader("content-type");
    response.end();
    return;
  }
  const bytes = Buffer.from(body);
  if (!response.hasHeader("content-type")) response.setHeader("content-type", "application/json");
  response.setHeader("content-length", bytes.length);
  response.end(bytes);
}
