/** Order references as people and logs may see them: a merchant may have put a card number there. PURE. */
import { passesLuhn } from "../platform/luhn.ts";

// The lengths that card numbers have in use, split as people write them.
const cardShape = /^\d(?:[ -]?\d){11,18}$/;
const shownDigits = 4;

/** The reference itself; where all of it looks like a card number, only the last four digits of that. */
export function shownOrderRef(orderRef: string): string {
  const written = orderRef.trim();
  if (!cardShape.test(written) || !passesLuhn(written.replace(/[ -]/g, ""))) return orderRef;
  return written.slice(0, -shownDigits).replace(/\d/g, "*") + written.slice(-shownDigits);
}

/** An event's body with its order reference as it is shown; what was posted is another thing, and stays. */
export function shownEventBody(body: string): string {
  return body.replace(
    /("orderRef":")([^"\\]*)"/g,
    (_, name: string, orderRef: string) => `${name}${shownOrderRef(orderRef)}"`,
  );
}
