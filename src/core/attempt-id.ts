/**
 * The id of an attempt: its name in our tables, and its reference and key at the gateway. It is derived from the
 * session and the connection, and a session has at most one attempt at a connection, so the attempt can still be looked
 * up by its id when its row is lost.
 */
import { sha256 } from "../platform/secrets.ts";

/**
 * Returns the same UUIDv7 for the same session and connection. Its timestamp is the session's, so a session's attempts
 * are stored together.
 */
export function attemptIdOf({ sessionId, connectionId }: { sessionId: string; connectionId: string }): string {
  const hash = sha256(`${sessionId} at ${connectionId}`).toString("hex");
  // RFC 9562, 5.7: 48 bits of time, version 7, 12 bits, variant 10, 62 bits.
  const variant = ((Number.parseInt(hash.slice(3, 4), 16) & 3) | 8).toString(16);
  const groups = [`7${hash.slice(0, 3)}`, `${variant}${hash.slice(4, 7)}`, hash.slice(7, 19)];
  return `${sessionId.slice(0, 13)}-${groups.join("-")}`;
}
