/** Masks order references and metadata for people and logs: a merchant may have put a card number there. PURE. */
import { passesLuhn } from "../platform/luhn.ts";

// The lengths of card numbers in use, with the separators that people write.
const cardShape = /^\d(?:[ -]?\d){11,18}$/;
const shownDigits = 4;

/** Returns the reference; if all of it looks like a card number, only its last four digits. */
export function shownOrderRef(orderRef: string): string {
  if (!isLikeCardNumber(orderRef)) return orderRef;
  const written = orderRef.trim();
  return written.slice(0, -shownDigits).replace(/\d/g, "*") + written.slice(-shownDigits);
}

export function isLikeCardNumber(orderRef: string): boolean {
  const written = orderRef.trim();
  return cardShape.test(written) && passesLuhn(written.replace(/[ -]/g, ""));
}

/**
 * Returns an event's body for display: its order reference and each value of its metadata is masked if it looks like a
 * card number. The posted body is not changed.
 */
export function shownEventBody(body: string): string {
  return body.replace(/(:")([\d -]+)"/g, (_, begin: string, text: string) => `${begin}${shownOrderRef(text)}"`);
}
