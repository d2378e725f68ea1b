/** Reads a request's body within bounds, after its headers have declared it as JSON. */
import type { IncomingMessage } from "node:http";
import { TranscodingError } from "./transcoding-error.ts";

/** Bounds on one request body. */
export type BodyLimits = {
  readonly bodyBytesMax: number;
  /** The time from the start of reading to the last byte, in milliseconds. */
  readonly bodyTimeoutMs: number;
};

// Parameters other than the charset say nothing about JSON and are ignored.
const jsonType = /^application\/json[ \t]*(?:;|$)/i;
const charset = /;[ \t]*charset=("?)([^";]*)\1[ \t]*(?:;|$)/i;

// A chunk of one byte takes some hundred of memory: more chunks than this are joined.
const chunksMax = 64;

/** Throws TranscodingError unless the headers announce UTF-8 JSON, not compressed. */
export function checkBodyHeaders({ headers }: IncomingMessage): void {
  const contentType = headers["content-type"] ?? "";
  if (!jsonType.test(contentType) || !/^utf-?8$/i.test(charset.exec(contentType)?.[2]?.trim() ?? "utf-8")) {
    throw new TranscodingError(
      "unsupported_media_type",
      "Send the body as JSON in UTF-8, with the header `Content-Type: application/json`.",
    );
  }
  if ((headers["content-encoding"] ?? "identity").trim().toLowerCase() !== "identity") {
    throw new TranscodingError("unsupported_encoding", "A compressed body is not accepted.");
  }
}

/** Reports that a request announces no content at all. If the body is the whole message, it is an empty one. */
export function hasNoBody({ headers }: IncomingMessage): boolean {
  return headers["content-type"] === undefined && !announcesContent(headers);
}

function announcesContent(headers: IncomingMessage["headers"]): boolean {
  return Number(headers["content-length"] ?? 0) > 0 || headers["transfer-encoding"] !== undefined;
}

/** Throws TranscodingError if a method without a body receives one: its content would be lost. */
export function checkNoBody({ headers }: IncomingMessage): void {
  if (announcesContent(headers)) {
    throw new TranscodingError("invalid_json", "This method takes no body.");
  }
}

/** Reads the whole body. Throws TranscodingError when it is too large (unread where its length says so), too slow, or breaks off. */
export function readBody(request: IncomingMessage, { bodyBytesMax, bodyTimeoutMs }: BodyLimits): Promise<Buffer> {
  if (Number(request.headers["content-length"] ?? 0) > bodyBytesMax) return Promise.reject(tooLarge(bodyBytesMax));
  // A client that disconnected during authentication causes no further event.
  if (request.destroyed && !request.complete) return Promise.reject(clientGone());
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const timer = setTimeout(
      () => stop(new TranscodingError("request_timeout", "The body came too slowly.")),
      bodyTimeoutMs,
    );
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      if (size > bodyBytesMax) stop(tooLarge(bodyBytesMax));
      else if (chunks.push(chunk) > chunksMax) chunks.splice(0, chunks.length, Buffer.concat(chunks));
    };
    const onEnd = () => {
      settle();
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
    };
    const onClose = () => stop(clientGone());
    const settle = () => {
      clearTimeout(timer);
      request.off("data", onData).off("end", onEnd).off("close", onClose);
    };
    const stop = (error: TranscodingError) => {
      settle();
      // The rest is left to arrive unread: closing at once would often lose the answer, and the server bounds the rest.
      reject(error);
    };
    request.on("data", onData).on("end", onEnd).on("close", onClose);
    // A broken connection emits an error first and a close second; the close is handled.
    request.on("error", () => {});
  });
}

function tooLarge(bodyBytesMax: number): TranscodingError {
  return new TranscodingError("payload_too_large", `The body may have at most ${bodyBytesMax} bytes.`);
}

function clientGone(): TranscodingError {
  return new TranscodingError("client_gone", "The client went away before its request was complete.");
}
