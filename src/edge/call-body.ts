/** Reads the one message of a binary unary call: framing, compression and size are checked before Connect sees it. */
import { promisify } from "node:util";
import { brotliDecompress, gunzip } from "node:zlib";
import { type DescMessage, type DescMethod, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { bodyBytesMax, requestTimeoutMs } from "../limits.ts";
import { DomainError } from "../platform/errors.ts";
import { readBody } from "../transcoder/request-body.ts";
import type { AnyRequest, AnyResponse } from "./request-id.ts";

/** The headers by which each form names a message's compression, and by which an answer names the accepted ones. */
const compressionHeaders = {
  grpc: { of: "grpc-encoding", accepted: "grpc-accept-encoding" },
  "grpc-web": { of: "grpc-encoding", accepted: "grpc-accept-encoding" },
  proto: { of: "content-encoding", accepted: "accept-encoding" },
} as const;

// The accepted compressions.
const acceptedCompressions = "gzip,br";

/** A form whose body is one Protobuf message. */
export type BinaryForm = keyof typeof compressionHeaders;

// gRPC's frame: one byte of flags, four of length (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md).
const frameHeadBytes = 5;
const compressedFlag = 1;

/** A message and its decompressed encoding. */
export type CallBody = { readonly bytes: Uint8Array; readonly message: MessageShape<DescMessage> };

/** Reads the body. Throws DomainError, or an error of `readBody`, for a body that is no message. */
export async function readCallBody(method: DescMethod, request: AnyRequest, form: BinaryForm): Promise<CallBody> {
  // node's HTTP/2 requests have the same shape, though not the same type.
  const plain = request as Parameters<typeof readBody>[0];
  const body = await readBody(plain, { bodyBytesMax, bodyTimeoutMs: requestTimeoutMs });
  const name = request.headers[compressionHeaders[form].of];
  const compression = typeof name === "string" ? name.trim().toLowerCase() : "identity";
  const isFramed = form !== "proto";
  const sent = isFramed ? requireOneFrame(body) : { bytes: body, isCompressed: compression !== "identity" };
  requireKnown(compression, sent.isCompressed);
  const bytes = sent.isCompressed && sent.bytes.length > 0 ? await decompress(compression, sent.bytes) : sent.bytes;
  try {
    return { bytes, message: fromBinary(method.input, bytes) };
  } catch (cause) {
    throw new DomainError("invalid_field", `The message is not a valid encoding of ${method.input.typeName}.`, {
      cause,
    });
  }
}

/** Adds the accepted compressions to an answer that refuses a body for its compression. */
export function offerCompressions(response: AnyResponse, form: BinaryForm, error: unknown): void {
  const isUnknown = error instanceof DomainError && error.code === "unsupported_encoding";
  if (isUnknown) response.setHeader(compressionHeaders[form].accepted, acceptedCompressions);
}

/** Returns a message in the frame that Connect expects of a call in this form. */
export function frameOf(form: BinaryForm, message: Uint8Array): Uint8Array {
  if (form === "proto") return message;
  const framed = Buffer.alloc(frameHeadBytes + message.length);
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, frameHeadBytes);
  return framed;
}

function requireOneFrame(body: Buffer): { bytes: Buffer; isCompressed: boolean } {
  const isWhole = body.length >= frameHeadBytes && body.readUInt32BE(1) === body.length - frameHeadBytes;
  const flags = body[0] ?? 0;
  if (!isWhole || flags > compressedFlag) {
    throw new DomainError("invalid_field", "The body of a call is exactly one message in its frame.");
  }
  return { bytes: body.subarray(frameHeadBytes), isCompressed: flags === compressedFlag };
}

function requireKnown(compression: string, isCompressed: boolean): void {
  if (compression === "gzip" || compression === "br" || (compression === "identity" && !isCompressed)) return;
  throw new DomainError("unsupported_encoding", "Compress messages with gzip or br, and name the encoding.");
}

const inflaters = { gzip: promisify(gunzip), br: promisify(brotliDecompress) };

async function decompress(compression: string, bytes: Buffer): Promise<Buffer> {
  try {
    return await inflaters[compression === "br" ? "br" : "gzip"](bytes, { maxOutputLength: bodyBytesMax });
  } catch (cause) {
    // A decompression bomb is stopped at the bound, so it never takes more memory than an honest message.
    if ((cause as { code?: unknown }).code === "ERR_BUFFER_TOO_LARGE") {
      throw new DomainError("payload_too_large", `A message may have at most ${bodyBytesMax} bytes.`, { cause });
    }
    throw new DomainError("invalid_field", "The message cannot be decompressed.", { cause });
  }
}
