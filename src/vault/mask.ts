/** Takes card numbers out of what a gateway answers, before anybody else reads it. Pure. */
import { brandOf, passesLuhn } from "./card.ts";

const shownDigits = 4;

/** A digit as it is, as a JSON escape, or percent-encoded. */
const digit = (value: string) => String.raw`(?:${value}|\\u003${value}|%3${value})`;
/** What may stand between two digits of one number: spaces, dashes, quotes and commas, in bytes. */
const separator = "(?:%20|[^0-9A-Za-z]{0,3})";
/** Anything else that reads as a card number: 12 to 19 digits, split by single spaces or dashes. */
const otherNumber = "(?<![0-9A-Za-z])[0-9](?:[ -]?[0-9]){11,18}(?![0-9A-Za-z])";
/**
 * Gateways name payments by UUIDs, and about one in 2 500 random ones has groups that read as a card number: masked, it would
 * name no payment any more, and the hold could be neither captured nor voided.
 */
const uuid = "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}";
const uuidOrNumber = new RegExp(`${uuid}|(?<number>${otherNumber})`, "g");

/**
 * Replaces every digit but the last four of `cardNumber`, however it is split or escaped, and of any other plausible
 * card number. Lengths and separators stay.
 */
export function maskCardNumbers(text: string, cardNumber: string): string {
  const own = new RegExp([...cardNumber].map(digit).join(separator), "g");
  return text
    .replace(own, maskDigits)
    .replace(uuidOrNumber, (match, number?: string) =>
      number !== undefined && isCardNumber(number.replace(/[ -]/g, "")) ? maskDigits(match) : match,
    );
}

/** The same for an answer's bytes, whatever their encoding: Latin-1 maps each byte to one character and back. */
export function maskCardBytes(bytes: Uint8Array, cardNumber: string): Uint8Array {
  return Buffer.from(maskCardNumbers(Buffer.from(bytes).toString("latin1"), cardNumber), "latin1");
}

/** A known network and a right check digit: gateways' own numeric references rarely have both. */
function isCardNumber(digits: string): boolean {
  return brandOf(digits) !== "unknown" && passesLuhn(digits);
}

function maskDigits(match: string): string {
  const tokens = match.match(/%20|\\u003[0-9]|%3[0-9]|[0-9]|[^0-9]/g) ?? [];
  const isDigit = (token: string) => token !== "%20" && /[0-9]/.test(token);
  let hidden = tokens.filter(isDigit).length - shownDigits;
  return tokens.map((token) => (isDigit(token) && hidden-- > 0 ? "*" : token)).join("");
}
