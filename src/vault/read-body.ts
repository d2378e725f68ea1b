/** Reads a request body up to a bound. */
import type { IncomingMessage } from "node:http";
import { DomainError } from "../platform/errors.ts";

// More chunks than this are joined as they come.
const chunksMax = 64;

/**
 * Returns the whole body. Throws `payload_too_large` as soon as it is known to exceed `bytesMax`, without reading on.
 */
export async function readBody(request: IncomingMessage, bytesMax: number): Promise<Uint8Array> {
  if (Number(request.headers["content-length"] ?? 0) > bytesMax) throw tooLarge();
  const chunks: Buffer[] = [];
  let length = 0;
  // Not destroyed at its end, since destroying the request would destroy the connection before the refusal is sent.
  const pieces = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  for await (const chunk of pieces) {
    length += chunk.length;
    if (length > bytesMax) throw tooLarge();
    // A chunk of one byte takes some hundred bytes of memory.
    if (chunks.push(chunk) > chunksMax) chunks.splice(0, chunks.length, Buffer.concat(chunks));
  }
  return Buffer.concat(chunks);
}

function tooLarge(): DomainError {
  return new DomainError("payload_too_large", "The body is larger than a card can be.");
}
