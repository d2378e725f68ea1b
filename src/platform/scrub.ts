/** Masks whatever looks like a card number, a secret or an e-mail address. PURE. */
import { passesLuhn } from "./luhn.ts";

const mask = "****";

/** Text without one of these matches no rule below. Most lines end here, after one pass. */
const suspicious = new RegExp(
  [
    "@",
    "[0-9](?:(?:[ +-]|%20)?[0-9]){11}",
    "(?:sk|rk|whsec|secret|operator|tok|wpn|wnt|vc)_",
    "eyJ",
    "AQE",
    String.raw`[\w-]\.[\w-]{43}`,
    "[AE][\\w-]{79}",
    "A21AA",
    "PRIVATE KEY",
    "[Bb]earer|BEARER|[Bb]asic",
    "[Pp]ass|[Ss]ecret|[Aa]uthorization|[Aa]pi[_-]?[Kk]ey|[Cc][Vv][CVNcvn]|[Cc][Ss][Cc]|ecurity|erification",
  ].join("|"),
);

type Rule = readonly [pattern: RegExp, shown: string | ((match: string) => string)];

// Every repetition is bounded, so that the time is linear in the length of any text.
const rules: readonly Rule[] = [
  [/-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----[^-]{0,8000}/g, `-----BEGIN PRIVATE KEY-----${mask}`],
  // The user and password of an address: databases, NATS, proxies.
  [/:\/\/[^\s"'/@:]{0,256}:[^\s"'@]{0,256}@/g, `://${mask}@`],
  [/:\/\/[^\s"'/@:]{1,256}@/g, `://${mask}@`],
  // Ours and Stripe's: secret keys, signing secrets, client secrets, operators' tokens; and the vault's tokens and handles.
  [/((?:^|[^A-Za-z0-9])(?:sk|rk|whsec|secret|operator|tok|wpn|wnt|vc)_)[\w+/=-]{16,512}/g, `$1${mask}`],
  [/\b(bearer|basic|BEARER|Bearer|Basic)\s{1,4}(?=[a-z._~-]{0,64}[0-9A-Z+/=])[\w.~+/=-]{12,4096}/g, `$1 ${mask}`],
  // Grants and service tokens.
  [/\beyJ[\w-]{8,4096}\.[\w-]{1,4096}(?:\.[\w-]{0,1024})?/g, `eyJ${mask}`],
  // Page tokens: content and an HMAC-SHA-256.
  [/(?<!\w)[\w-]{16,400}\.[\w-]{43}(?![\w-])/g, mask],
  // Keys of Adyen; client ids, secrets and access tokens of PayPal.
  [/\bAQE[\w+/=-]{20,512}[^\s"',]{0,200}/g, mask],
  [/\bA21AA[\w-]{20,512}/g, mask],
  [/(?<![\w-])[AE][\w-]{79}(?![\w-])/g, mask],
  // A value beside a name that identifies it, in JSON, forms and printed objects.
  [
    /\b(pass(?:word|wd)?|(?:client|signing|shared)?_?secret|api[_-]?key|authorization|cvc2?|cvv2?|cvn|csc|security[_-]?code|card[_-]?verification(?:[_-]?(?:value|code))?)((?:\\?["'])?\s{0,4}[:=]\s{0,4}(?:\\?["'])?)(?!\*)[^\s"'\\,;&}]{1,512}/gi,
    `$1$2${mask}`,
  ],
  [/[^\s"'\\<>()[\]{},;:=/@*|]{1,64}@(?:[\p{L}\p{N}-]{1,63}\.){1,8}\p{L}[\p{L}\p{N}-]{1,62}/gu, `${mask}@${mask}`],
];

/**
 * UUIDs, a few of which read as numbers; and runs of 12 digits or more, in groups or not, that are not part of a longer
 * number.
 */
const uuidOrNumber =
  /[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|(?<run>(?<![0-9]|[0-9]\.)[0-9](?:(?:[ +-]|%20)?[0-9]){11,})/g;

const [cardDigitsMin, cardDigitsMax] = [12, 19];

/**
 * Returns the text with `****` in place of anything that must not be in a log. A second defence after the allow-list of
 * fields, for messages and stacks.
 */
export function scrub(given: string): string {
  const text = given.replace(/[\uff10-\uff19]/g, (digit) => String.fromCharCode(digit.charCodeAt(0) - 0xfee0));
  if (!suspicious.test(text)) return text;
  let scrubbed = text;
  for (const [pattern, shown] of rules) scrubbed = scrubbed.replace(pattern, shown as string);
  return scrubbed.replace(uuidOrNumber, (match, run?: string) => (run === undefined ? match : maskCards(run, isCard)));
}

const isCard = (digits: string) =>
  digits.length >= cardDigitsMin && digits.length <= cardDigitsMax && passesLuhn(digits);

/** Masks a run that is a card's number, or the groups of it that are. */
function maskCards(run: string, isCard: (digits: string) => boolean): string {
  // Groups at even indexes, their separators at odd ones.
  const parts = run.split(/([ +-]|%20)/);
  if (isCard(parts.filter((_, at) => at % 2 === 0).join(""))) return mask;
  const masked = new Set<number>();
  for (let from = 0; from < parts.length; from += 2) {
    let digits = "";
    for (let to = from; to < parts.length && digits.length < cardDigitsMax; to += 2) {
      digits += parts[to];
      if (isCard(digits)) for (let at = from; at <= to; at++) masked.add(at);
    }
  }
  return parts.map((part, at) => (masked.has(at) ? (masked.has(at - 1) ? "" : mask) : part)).join("");
}

/** Reports whether a text contains the number of a card, in groups or not. */
export function hasCardNumber(text: string): boolean {
  return hasNumber(text, isCard);
}

/**
 * The first digits and the lengths of the numbers that networks issue (Visa, Mastercard, American Express, Diners Club, JCB; Discover,
 * Maestro, UnionPay and those of one country): ISO/IEC 7812 as the networks publish them.
 */
const networkNumber =
  /^(4(\d{12}|\d{15}|\d{18})|(5[1-5]|2(22[1-9]|2[3-9]|[3-6]|7[01]|720))\d*(?<=^\d{16})|3[47]\d{13}|3(0[0-5]|095|[689])\d*(?<=^(\d{14}|\d{16}|\d{19}))|35\d*(?<=^(\d{16}|\d{19}))|(5[06-8]|6|81)\d*(?<=^\d{16,19}))$/;

/**
 * Reports whether a text contains a number that a card network issues. One number in ten has the check digit of a card by chance, and
 * carriers number parcels with as many digits: of a tracking number, the check digit alone says nothing.
 */
export function hasNetworkNumber(text: string): boolean {
  return hasNumber(text, (digits) => networkNumber.test(digits) && passesLuhn(digits));
}

function hasNumber(text: string, isWanted: (digits: string) => boolean): boolean {
  return [...text.matchAll(uuidOrNumber)].some(
    ({ groups }) => groups?.run !== undefined && maskCards(groups.run, isWanted) !== groups.run,
  );
}
