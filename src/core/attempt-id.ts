/**
 * The id of an attempt: its name in our tables, and its reference and key at the gateway. Derived from the session and the
 * connection, at which a session has one attempt at most, so that whoever has lost the row can still ask for it by name.
 */
import { sha256 } from "../platform/secrets.ts";

/** The same UUIDv7 for the same two; its time is the session's, so that the attempts of a session lie together. */
export function attemptIdOf({ sessionId, connectionId }: { sessionId: string; connectionId: string }): string {
  const hash = sha256(`${sessionId} at ${connectionId}`).toString("hex");
  // RFC 9562, 5.7: 48 bits of time, version 7, 12 bits, variant 10, 62 bits.
  const variant = ((Number.parseInt(hash.slice(3, 4), 16) & 3) | 8).toString(16);
  const groups = [`7${hash.slice(0, 3)}`, `${variant}${hash.slice(4, 7)}`, hash.slice(7, 19)];
  return `${sessionId.slice(0, 13)}-${groups.join("-")}`;
}
