/** How long ago an attempt was made, which its id says: whoever counts on a gateway's memory of it has to know. */
import { decodeId } from "../platform/ids.ts";

/** Milliseconds since the attempt was made; 0 for an id that tells no time. */
export function ageOfAttemptMs(attemptReference: string, nowMs: number): number {
  const uuid = decodeId("att", attemptReference);
  if (uuid === undefined) return 0;
  // The first 48 bits of a UUIDv7 are milliseconds since 1970: RFC 9562, section 5.7.
  return nowMs - Number.parseInt(uuid.replace("-", "").slice(0, 12), 16);
}
