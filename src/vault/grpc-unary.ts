/**
 * Reads and answers unary gRPC calls on node's HTTP/2 streams. Connect's handler, made for streams of messages, would
 * take a quarter of the vault's CPU and half of its allocations (docs/profiles.md).
 */
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { DomainError } from "../platform/errors.ts";
import { frameMessage, unframeMessage } from "../platform/grpc-message.ts";
import { readBody } from "./read-body.ts";
import { callBodyWithinMs, forwardBytesMax } from "./vault-limits.ts";

export type GrpcCall = { readonly stream: ServerHttp2Stream; readonly headers: IncomingHttpHeaders };

const grpcType = /^application\/grpc(\+proto)?$/i;
const timeoutShape = /^\d{1,8}[HMSmun]$/;

// Messages are a few KiB and both sides are near: compressing one would cost more than it saves.
const answerHead = { ":status": 200, "content-type": "application/grpc+proto", "grpc-accept-encoding": "identity" };

/** Answers a request that is no gRPC call by its HTTP status, and returns true; false for a call. */
export function refuseOtherRequests({ stream, headers }: GrpcCall): boolean {
  const isPost = headers[":method"] === "POST";
  if (isPost && grpcType.test(headers["content-type"] ?? "")) return false;
  if (isOpen(stream))
    stream.respond(isPost ? { ":status": 415 } : { ":status": 405, allow: "POST" }, { endStream: true });
  return true;
}

/** Returns the bytes of a call's message. Throws for a message that is compressed, late, too large, or not exactly one. */
export async function readCallMessage({ stream, headers }: GrpcCall, withinMs = callBodyWithinMs): Promise<Buffer> {
  // A caller's deadline is its own: work that has begun ends within the time that its message names.
  const timeout = headers["grpc-timeout"]?.toString();
  if (timeout !== undefined && !timeoutShape.test(timeout)) {
    throw new DomainError("invalid_parameter", "The header grpc-timeout is malformed.");
  }
  if ((headers["grpc-encoding"]?.toString() ?? "identity") !== "identity") throw compressed();
  const body = await readBody(stream, headers, { bytesMax: forwardBytesMax, withinMs });
  const { bytes, isCompressed } = unframeMessage(body);
  if (isCompressed) throw compressed();
  return bytes;
}

function compressed(): DomainError {
  return new DomainError("unsupported_encoding", "The vault reads no compressed messages.");
}

/** Sends the answer of a call. Does nothing if its caller has left. */
export function sendAnswer({ stream }: GrpcCall, message: Uint8Array): void {
  if (!isOpen(stream)) return;
  stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  stream.respond(answerHead, { waitForTrailers: true });
  stream.end(frameMessage(message));
}

/** Answers a call with only an error, as Trailers-Only. Does nothing if its caller has left. */
export function sendError({ stream }: GrpcCall, error: ConnectError): void {
  if (!isOpen(stream)) return;
  const status = Object.fromEntries(setTrailerStatus(new Headers(), error));
  stream.respond({ ...answerHead, ...status }, { endStream: true });
}

export function unimplemented(): ConnectError {
  return new ConnectError("the vault has no such rpc", Code.Unimplemented);
}

function isOpen(stream: ServerHttp2Stream): boolean {
  return !stream.closed && !stream.destroyed && !stream.headersSent;
}
