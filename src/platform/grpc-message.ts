/**
 * The one message of a unary gRPC call and the frame around it: one byte of flags and four of length
 * (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md). Pure.
 */
import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { DomainError } from "./errors.ts";

const frameHeadBytes = 5;
const compressedFlag = 1;

export function frameMessage(message: Uint8Array): Buffer {
  const framed = Buffer.alloc(frameHeadBytes + message.length);
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, frameHeadBytes);
  return framed;
}

/** Returns the message of a body, which may be compressed. Throws `invalid_field` unless it is exactly one frame. */
export function unframeMessage(body: Buffer): { readonly bytes: Buffer; readonly isCompressed: boolean } {
  const isWhole = body.length >= frameHeadBytes && body.readUInt32BE(1) === body.length - frameHeadBytes;
  const flags = body[0] ?? 0;
  if (!isWhole || flags > compressedFlag) {
    throw new DomainError("invalid_field", "The body of a call is exactly one message in its frame.");
  }
  return { bytes: body.subarray(frameHeadBytes), isCompressed: flags === compressedFlag };
}

/** Returns a message from its encoding. Throws `invalid_field` for bytes that encode no such message. */
export function decodeMessage<Desc extends DescMessage>(schema: Desc, bytes: Uint8Array): MessageShape<Desc> {
  try {
    return fromBinary(schema, bytes);
  } catch (cause) {
    throw new DomainError("invalid_field", `The message is not a valid encoding of ${schema.typeName}.`, { cause });
  }
}
