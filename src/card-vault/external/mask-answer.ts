/** Removes card data from a gateway's answer that came through an external vault, which does not do so itself. Pure. */
import { passesLuhn } from "../../platform/luhn.ts";
import { isObject } from "../../platform/outbound-http.ts";

// 12 to 19 digits, split by single spaces or dashes.
const anyNumber = /[0-9](?:[ -]?[0-9]){11,18}/g;
// The same, if not part of a longer name such as `auth_4000…`; or a UUID, whose groups may read as a number.
const uuidOrNumber =
  /[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}|(?<number>(?<![0-9A-Za-z_])[0-9](?:[ -]?[0-9]){11,18}(?![0-9A-Za-z_]))/g;
const numberName = /^(?:[a-z_-]*(?:card|account|cc)[_-]?(?:number|num|no)|number|[df]?pan)$/i;
const cvcName = /^[a-z_-]*(?:cvc|cvv|cvn|csc|cid|security[_-]?code|verification[_-]?(?:value|code))2?$/i;

/**
 * Returns the answer with card numbers and security codes masked, as our own vault does (src/vault/mask.ts), but
 * without having the card. A number counts as the card's if it ends like it and its check digit is right. Other numbers
 * that a card could have are masked within text. A whole value of digits, as gateways write references, is masked only
 * under a card's name.
 */
export function maskAnswer(value: unknown, last4: string | undefined, name = ""): unknown {
  if (typeof value === "number") {
    const masked = maskValue(String(value), last4, name);
    return masked === String(value) ? value : masked;
  }
  if (typeof value === "string") return maskValue(value, last4, name);
  if (Array.isArray(value)) return value.map((item) => maskAnswer(item, last4, name));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([member, inner]) => [maskValue(member, last4, ""), maskAnswer(inner, last4, member)]),
  );
}

function maskValue(value: string, last4: string | undefined, name: string): string {
  if (cvcName.test(name) && /^[0-9]{3,4}$/.test(value)) return "*".repeat(value.length);
  const isOwn = (digits: string) => last4 !== undefined && digits.endsWith(last4) && passesLuhn(digits);
  const masked = value.replace(anyNumber, (number) => (isOwn(digitsOf(number)) ? maskDigits(number) : number));
  if (/^[0-9]+$/.test(masked) && !numberName.test(name)) return masked;
  return masked.replace(uuidOrNumber, (match, number?: string) =>
    number !== undefined && passesLuhn(digitsOf(number)) ? maskDigits(number) : match,
  );
}

function digitsOf(number: string): string {
  return number.replace(/[ -]/g, "");
}

/** Masks all but the last four digits, which may be shown. */
function maskDigits(number: string): string {
  return number.slice(0, -4).replace(/[0-9]/g, "*") + number.slice(-4);
}
