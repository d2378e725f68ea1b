/** Reads the Idempotency-Key header. */
import { DomainError } from "../platform/errors.ts";

// Printable ASCII, taken literally: the key is data, never parsed.
const pattern = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/;

/**
 * Returns the key as sent, or undefined without one. Throws `invalid_idempotency_key` for anything but 1 to 255
 * printable ASCII characters.
 */
export function readIdempotencyKey(headers: Pick<Headers, "get">): string | undefined {
  const key = headers.get("Idempotency-Key");
  if (key === null) return undefined;
  if (pattern.test(key)) return key;
  throw new DomainError("invalid_idempotency_key", "Idempotency-Key must be 1 to 255 printable ASCII characters.", {
    field: "Idempotency-Key",
  });
}
