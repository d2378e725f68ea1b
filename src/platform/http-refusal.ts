/** Writes a refusal where no handler can: on a response that somebody else owns, or on a connection that has none. */
import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { lingerMs } from "../limits.ts";

/** A whole answer. The body is JSON. */
export type HttpAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/** Answers on a response that nothing was written to, and closes its connection when it is sent. */
export function refuseOnResponse(response: ServerResponse, answer: HttpAnswer): void {
  if (!response.headersSent && !response.destroyed) {
    response.writeHead(answer.status, headersOf(answer)).end(answer.body);
  }
}

/** Answers on a connection on which no answer is under way. */
export function refuseOnSocket(socket: Socket, answer: HttpAnswer): void {
  const lines = Object.entries(headersOf(answer)).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status]}\r\n${lines.join("")}\r\n`;
  closeGently(socket, head + answer.body);
}

/**
 * Ends a connection and takes what still comes for a moment: closed at once, it would be reset, and the client could
 * lose the last answer on its way.
 */
export function closeGently(socket: Socket, lastWords = ""): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  socket.end(lastWords);
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(timer));
}

function headersOf({ headers, body }: HttpAnswer): Record<string, string> {
  return {
    ...headers,
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
    connection: "close",
  };
}
