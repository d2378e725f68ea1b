/** Writes a refusal where no handler can: on a response owned by other code, or on a connection without one. */
import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { lingerMs, refusedBodyBytesMax } from "../limits.ts";

/** A complete answer. The body is JSON. */
export type HttpAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/** Answers on a response to which nothing was written, and closes its connection when it is sent. */
export function refuseOnResponse(response: ServerResponse, answer: HttpAnswer): void {
  if (!response.headersSent && !response.destroyed) {
    response.writeHead(answer.status, headersOf(answer)).end(answer.body);
  }
}

/** Answers on a connection with no answer in progress. */
export function refuseOnSocket(socket: Socket, answer: HttpAnswer): void {
  const lines = Object.entries(headersOf(answer)).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status]}\r\n${lines.join("")}\r\n`;
  closeGently(socket, head + answer.body);
}

/**
 * Ends a connection and accepts remaining bytes for a moment: closed at once, it would be reset, and the client could
 * lose the last answer.
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

/**
 * Ends a connection whose last request was not read completely: reads and drops a bounded amount, and closes after a
 * moment. Without it node would reset the connection, or read on.
 */
export function closeUnread(socket: Socket): void {
  // Called by node when the last answer has been written.
  socket.destroySoon = () => {
    if (!socket.writable) return void socket.destroy();
    // The parser's listeners: nothing that arrives now is a request, or a body that its reader could resume.
    socket.removeAllListeners("data");
    let left = refusedBodyBytesMax;
    socket.on("data", (chunk: Buffer) => {
      left -= chunk.length;
      if (left < 0) socket.pause();
    });
    closeGently(socket);
  };
}

function headersOf({ headers, body }: HttpAnswer): Record<string, string> {
  return {
    "X-Content-Type-Options": "nosniff",
    ...headers,
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
    connection: "close",
  };
}
