/** Reads a request's body as text, up to a bound. */
import type { IncomingMessage } from "node:http";

// A webhook holds one session with at most five attempts; 256 KiB is fifty times that.
const bodyBytesMax = 256 * 1024;

/** Returns the whole body; throws when it is longer than the bound. */
export async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bodyBytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bodyBytes += chunk.length;
    if (bodyBytes > bodyBytesMax) throw new Error("the request's body is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
