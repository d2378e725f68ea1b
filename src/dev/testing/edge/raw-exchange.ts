/** Sends bytes to a port unchanged, well-formed or not, and reads every answer. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** An HTTP/1.1 answer as it was read. */
export type RawAnswer = {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
};

/** Everything received over one connection until it was closed. */
export type RawExchange = {
  readonly answers: readonly RawAnswer[];
  /** Received bytes that are no complete answer; empty for a server that follows HTTP. */
  readonly rest: string;
};

/** The bytes to write: at once, or piece by piece. */
export type RawRequest = string | Uint8Array | Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;

/**
 * Writes a request and reads until the server closes, or until `answersExpected` answers have arrived; this side then
 * ends too. Strings are sent as Latin-1, a byte a character. A server that resets the connection ends the exchange.
 */
export async function exchangeRaw(port: number, request: RawRequest, answersExpected = 1): Promise<RawExchange> {
  const socket = await connectTo(port);
  let received = "";
  const closed = closeOf(socket);
  socket.on("data", (chunk: string) => {
    received += chunk;
    if (answersIn(received).answers.length >= answersExpected) socket.end();
  });
  await writeAll(socket, request);
  await closed;
  return answersIn(received);
}

/** Opens a connection and sends nothing. Errors end it, as a close does. */
export async function connectTo(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1").setEncoding("latin1");
  socket.on("error", () => socket.destroy());
  await once(socket, "connect");
  return socket;
}

export function closeOf(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.closed) resolve();
    else socket.once("close", () => resolve());
  });
}

/**
 * The maximum that the kernel buffers for a connection, on both sides: a client has sent this much more than was read.
 */
const kernelHolds = 32 * 1024 * 1024;

/**
 * Writes a head that announces a body and then a body without an end, until the server closes. Returns the answers, and
 * whether the server read much more than it must.
 */
export async function exchangeEndless(port: number, head: string): Promise<RawExchange & { isReadOn: boolean }> {
  const socket = await connectTo(port);
  let received = "";
  socket.on("data", (chunk: string) => {
    received += chunk;
  });
  const closed = closeOf(socket);
  socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n`);
  const chunk = Buffer.from(`10000\r\n${"x".repeat(0x10000)}\r\n`);
  while (socket.writable && socket.bytesWritten - socket.writableLength <= kernelHolds) {
    if (!socket.write(chunk)) await Promise.race([new Promise((drained) => socket.once("drain", drained)), closed]);
  }
  const isReadOn = socket.writable;
  if (isReadOn) socket.destroy();
  await closed;
  return { ...answersIn(received), isReadOn };
}

async function writeAll(socket: Socket, request: RawRequest): Promise<void> {
  const pieces = typeof request === "string" || request instanceof Uint8Array ? [request] : request;
  for await (const piece of pieces) {
    if (!socket.writable) return;
    const bytes = typeof piece === "string" ? Buffer.from(piece, "latin1") : piece;
    if (!socket.write(bytes)) await Promise.race([once(socket, "drain"), closeOf(socket)]);
  }
}

/** Reads answers one behind the other; interim ones (100 Continue) count as separate answers. */
export function answersIn(received: string): RawExchange {
  const answers: RawAnswer[] = [];
  let rest = received;
  for (;;) {
    const headEnd = rest.indexOf("\r\n\r\n");
    if (headEnd === -1) return { answers, rest };
    const [first = "", ...lines] = rest.slice(0, headEnd).split("\r\n");
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1]);
    if (Number.isNaN(status)) return { answers, rest };
    const headers = new Map(lines.map((line) => splitLine(line)));
    const body = bodyIn(headers, rest.slice(headEnd + 4));
    if (body === undefined) return { answers, rest };
    answers.push({ status, headers, text: body.text });
    rest = body.rest;
  }
}

/** Returns the body at the beginning of the read text, or undefined while it is incomplete. */
function bodyIn(headers: ReadonlyMap<string, string>, read: string): { text: string; rest: string } | undefined {
  if (headers.get("transfer-encoding") === "chunked") return chunksIn(read);
  const length = Number(headers.get("content-length") ?? 0);
  return read.length < length ? undefined : { text: read.slice(0, length), rest: read.slice(length) };
}

function chunksIn(read: string): { text: string; rest: string } | undefined {
  let text = "";
  for (let at = 0; ; ) {
    const lineEnd = read.indexOf("\r\n", at);
    const size = Number.parseInt(read.slice(at, lineEnd), 16);
    const chunkEnd = lineEnd + 2 + size;
    if (lineEnd === -1 || read.length < chunkEnd + 2) return undefined;
    if (size === 0) return { text, rest: read.slice(chunkEnd + 2) };
    text += read.slice(lineEnd + 2, chunkEnd);
    at = chunkEnd + 2;
  }
}

function splitLine(line: string): [name: string, value: string] {
  const colon = line.indexOf(":");
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}
