/** Reads the one message of a binary unary call: framing, compression and size are checked before Connect sees it. */
import { promisify } from "node:util";
import { brotliDecompress, gunzip } from "node:zlib";
import type { DescMessage, DescMethod, MessageShape } from "@bufbuild/protobuf";
import { DisputeService } from "../../gen/payments/v1/dispute_pb.ts";
import { bodyBytesMax, fileBodiesMax, fileBodyBytesMax, requestTimeoutMs } from "../limits.ts";
import { DomainError } from "../platform/errors.ts";
import { createFileBodies } from "../platform/file-bodies.ts";
import { decodeMessage, frameMessage, unframeMessage } from "../platform/grpc-message.ts";
import { readBody } from "../transcoder/request-body.ts";
import type { AnyRequest, AnyResponse } from "./request-id.ts";

export const callLimits = { bodyBytesMax, bodyTimeoutMs: requestTimeoutMs } as const;

const fileLimits = { ...callLimits, bodyBytesMax: fileBodyBytesMax };
const fileBodies = createFileBodies(fileBodiesMax);

/** Returns the limits of a method's body. One with a file is admitted first; call it when the caller is known. */
export function callLimitsOf(method: DescMethod, response: Pick<AnyResponse, "once">) {
  if (method !== DisputeService.method.addDisputeFile) return callLimits;
  fileBodies.admit(response);
  return fileLimits;
}

/** The headers by which each form names a message's compression, and by which an answer names the accepted ones. */
const compressionHeaders = {
  grpc: { of: "grpc-encoding", accepted: "grpc-accept-encoding" },
  "grpc-web": { of: "grpc-encoding", accepted: "grpc-accept-encoding" },
  proto: { of: "content-encoding", accepted: "accept-encoding" },
} as const;

const acceptedCompressions = "gzip,br";

export type BinaryForm = keyof typeof compressionHeaders;

export type CallBody = { readonly bytes: Uint8Array; readonly message: MessageShape<DescMessage> };

/** Reads the body. Throws DomainError, or an error of `readBody`, for a body that is no message. */
export async function readCallBody(
  method: DescMethod,
  request: AnyRequest,
  form: BinaryForm,
  limits: typeof fileLimits = callLimits,
): Promise<CallBody> {
  // node's HTTP/2 requests have the same shape, though not the same type.
  const plain = request as Parameters<typeof readBody>[0];
  const body = await readBody(plain, limits);
  const name = request.headers[compressionHeaders[form].of];
  const compression = typeof name === "string" ? name.trim().toLowerCase() : "identity";
  const sent = form === "proto" ? { bytes: body, isCompressed: compression !== "identity" } : unframeMessage(body);
  requireKnown(compression, sent.isCompressed);
  const bytes =
    sent.isCompressed && sent.bytes.length > 0 ? await decompress(compression, sent.bytes, limits) : sent.bytes;
  return { bytes, message: decodeMessage(method.input, bytes) };
}

export function offerCompressions(response: AnyResponse, form: BinaryForm, error: unknown): void {
  const isUnknown = error instanceof DomainError && error.code === "unsupported_encoding";
  if (isUnknown) response.setHeader(compressionHeaders[form].accepted, acceptedCompressions);
}

export function frameOf(form: BinaryForm, message: Uint8Array): Uint8Array {
  return form === "proto" ? message : frameMessage(message);
}

function requireKnown(compression: string, isCompressed: boolean): void {
  if (compression === "gzip" || compression === "br" || (compression === "identity" && !isCompressed)) return;
  throw new DomainError("unsupported_encoding", "Compress messages with gzip or br, and name the encoding.");
}

const inflaters = { gzip: promisify(gunzip), br: promisify(brotliDecompress) };

async function decompress(
  compression: string,
  bytes: Buffer,
  { bodyBytesMax: bytesMax }: typeof fileLimits,
): Promise<Buffer> {
  try {
    return await inflaters[compression === "br" ? "br" : "gzip"](bytes, { maxOutputLength: bytesMax });
  } catch (cause) {
    // A decompression bomb is stopped at the bound, so it never takes more memory than an honest message.
    if ((cause as { code?: unknown }).code === "ERR_BUFFER_TOO_LARGE") {
      throw new DomainError("payload_too_large", `A message may have at most ${bytesMax} bytes.`, { cause });
    }
    throw new DomainError("invalid_field", "The message cannot be decompressed.", { cause });
  }
}
