/** A real HTTP server around a transcoder, and a client that sends targets exactly as they are written. */
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type OutgoingHttpHeaders, request as sendRequest } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { text as readText } from "node:stream/consumers";
import { afterEach } from "vitest";
import type { Answer } from "../../../transcoder/send-answer.ts";
import { createTranscoder, type TranscoderOptions } from "../../../transcoder/transcoder.ts";
import { TranscodingError, type TranscodingErrorKind } from "../../../transcoder/transcoding-error.ts";
import { echo, implementLibrary } from "./library.ts";

/** An answer as a test sees it. `json` is undefined when there is no body. */
export type Received = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
  readonly json: any;
};

export type LibraryServer = {
  readonly port: number;
  /** Sends `"GET /v1/books"`. A body that is no string or buffer is sent as JSON. */
  send(requestLine: string, body?: unknown, headers?: OutgoingHttpHeaders): Promise<Received>;
  close(): Promise<void>;
};

const statuses: Partial<Record<TranscodingErrorKind, number>> = {
  method_not_allowed: 405,
  unsupported_media_type: 415,
  unsupported_encoding: 415,
  payload_too_large: 413,
  request_timeout: 408,
};

export function renderError(error: unknown): Answer {
  if (!(error instanceof TranscodingError)) {
    return { status: 500, headers: {}, body: JSON.stringify({ message: (error as Error).message }) };
  }
  const { kind, message, problems } = error;
  return { status: statuses[kind] ?? 400, headers: {}, body: JSON.stringify({ kind, message, problems }) };
}

const echoes = [
  "createBook",
  "updateBook",
  "moveBook",
  "searchBooks",
  "addTags",
  "readFile",
  "getShelf",
  "deleteBook",
  "planPeriod",
];

/** Starts the library on a free port. Methods without an implementation echo their request; unknown paths get 404. */
export async function startLibrary(
  options: Partial<TranscoderOptions> & { methods?: object } = {},
): Promise<LibraryServer> {
  const methods = { ...Object.fromEntries(echoes.map((name) => [name, echo])), ...options.methods };
  const transcode = createTranscoder({
    services: [implementLibrary(methods)],
    limits: { bodyBytesMax: 4096, bodyTimeoutMs: 2000 },
    renderError,
    ...options,
  });
  const server = createServer(async (request, response) => {
    if (!(await transcode(request, response))) response.writeHead(404).end("not mine");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    send: (requestLine, body, headers) => send(port, requestLine, body, headers),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Starts servers for the tests of a file, and stops each when its test is over. */
export function libraryStarter(): typeof startLibrary {
  const servers: LibraryServer[] = [];
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.close()));
  });
  return async (options) => {
    const server = await startLibrary(options);
    servers.push(server);
    return server;
  };
}

function send(port: number, requestLine: string, body: unknown, headers: OutgoingHttpHeaders = {}): Promise<Received> {
  const [method, path] = requestLine.split(" ") as [string, string];
  const bytes = body === undefined || typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const typed = bytes === undefined ? headers : { "content-type": "application/json", ...headers };
  return new Promise((resolve, reject) => {
    const request = sendRequest({ host: "127.0.0.1", port, method, path, headers: typed }, async (response) => {
      const text = await readText(response);
      const isJson = response.headers["content-type"] === "application/json" && text !== "";
      resolve({
        status: response.statusCode!,
        headers: response.headers,
        text,
        json: isJson ? JSON.parse(text) : undefined,
      });
    });
    request.on("error", reject).end(bytes);
  });
}

/** Sends bytes unchanged and resolves with everything received until the server closes. */
export async function sendRaw(port: number, text: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  let received = "";
  socket.on("data", (chunk) => {
    received += chunk;
  });
  socket.write(text);
  await once(socket, "close");
  return received;
}
