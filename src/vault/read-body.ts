/** Reads the bodies of requests and calls within bounds. */
import type { Readable } from "node:stream";
import { DomainError } from "../platform/errors.ts";

// A chunk of one byte takes some hundred bytes of memory: more chunks than this are joined as they come.
const chunksMax = 64;

/**
 * Returns the whole body. Throws `payload_too_large` as soon as it is known to exceed `bytesMax`, and
 * `request_timeout` if it breaks off or has not ended within `withinMs`.
 */
export function readBody(
  body: Readable,
  headers: { readonly "content-length"?: string | undefined },
  { bytesMax, withinMs }: { readonly bytesMax: number; readonly withinMs?: number },
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const onData = (chunk: Buffer) => {
      length += chunk.length;
      if (length > bytesMax) stop(tooLarge(bytesMax));
      else if (chunks.push(chunk) > chunksMax) chunks.splice(0, chunks.length, Buffer.concat(chunks));
    };
    const onEnd = () => {
      settle();
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
    };
    const onClose = () => stop(new DomainError("request_timeout", "The body broke off."));
    const onLate = () => stop(new DomainError("request_timeout", "The body did not arrive in time."));
    const settle = () => {
      clearTimeout(timer);
      body.off("data", onData).off("end", onEnd).off("close", onClose);
    };
    // The rest is dropped until the refusal is sent: to destroy the body would often lose the refusal.
    const stop = (error: DomainError) => {
      settle();
      reject(error);
    };
    const timer = withinMs === undefined ? undefined : setTimeout(onLate, withinMs);
    if (Number(headers["content-length"] ?? 0) > bytesMax) return stop(tooLarge(bytesMax));
    // An empty body that has ended, and a sender that has left, cause no further event.
    if (body.readableEnded) return onEnd();
    if (body.destroyed) return onClose();
    body.on("data", onData).on("end", onEnd).on("close", onClose);
  });
}

function tooLarge(bytesMax: number): DomainError {
  return new DomainError("payload_too_large", `The body may have at most ${bytesMax} bytes.`);
}
