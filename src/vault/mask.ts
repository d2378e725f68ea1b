/**
 * Removes card data from a gateway's answer, before any other code reads it, and keeps the gateway's references intact.
 * Pure.
 */
import { type Card, isNetworkNumber } from "./card.ts";
import { type HolderMask, holderMaskOf } from "./mask-holder.ts";
import { maskOwn, type Part } from "./mask-own.ts";

/** The values that must not be in an answer. */
export type MaskedCard = Pick<Card, "number" | "cvc" | "holder">;

type SoughtCard = Pick<Card, "number" | "cvc"> & Pick<HolderMask, "isHolder">;

const shownDigits = 4;

/** 12 to 19 digits, split by single spaces or dashes, that are not part of a longer name such as `auth_4000…`. */
const otherNumber = "(?<![0-9A-Za-z_])[0-9](?:[ -]?[0-9]){11,18}(?![0-9A-Za-z_])";
/** Gateways name payments by UUIDs, and about one in 2 500 random ones has groups that read as a card number. */
const uuid = "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}";
const uuidOrNumber = new RegExp(`${uuid}|(?<number>${otherNumber})`, "g");

/** Every string of a valid JSON text, with its colon when it is a name, and every number. */
const jsonToken = /"(?<text>(?:[^"\\]|\\.)*)"(?<colon>\s*:)?|(?<number>-?[0-9][0-9.eE+-]*)/g;
/** `name=value` with others after an ampersand, as forms are written: no spaces, no quotes. */
const formShape = /^[^\s"=&<>]+=[^\s"&<>]*(?:&[^\s"=&<>]+=[^\s"&<>]*)*$/;
const byteOrderMark = "\u00ef\u00bb\u00bf";

/** Members that contain a card number if they contain anything of its form. */
const numberName = /^(?:[a-z_-]*(?:card|account|cc)[_-]?(?:number|num|no)|number|[df]?pan)$/i;
const cvcName = /^[a-z_-]*(?:cvc|cvv|cvn|csc|cid|security[_-]?code|verification[_-]?(?:value|code))2?$/i;

/**
 * Masks a header or a body read as Latin-1. Lengths and separators stay, and the last four digits of each number.
 * - The card's own number is masked everywhere: escaped, split by anything but letters, or over consecutive members. An
 *   escape is masked with its digit.
 * - Its CVC is masked in a member of that name: three digits anywhere else have no meaning.
 * - Its holder's name is masked everywhere; one plain word, which could be a code, only in a member called a name.
 * - Any other number that a card could have is masked within text: split into groups, or among other words.
 * - A whole value of digits, as gateways write references, stays, unless its name says that it is a card's: one in ten
 *   of them passes Luhn, and a hold whose reference is masked could be neither captured nor voided.
 */
export function maskCard(text: string, card: MaskedCard): string {
  const holder = holderMaskOf(card.holder);
  const own = maskOwn(text, partsOf(text), { number: card.number, name: holder.nameAnywhere });
  return maskOthers(own, { ...card, isHolder: holder.isHolder });
}

/**
 * Returns the parts that may contain the card, in order: strings and numbers of JSON, names and values of a form, or
 * the whole text.
 */
function partsOf(text: string): Part[] {
  if (isJson(text)) {
    return Array.from(text.matchAll(jsonToken), ({ index, groups }) =>
      groups!.number === undefined
        ? { from: index + 1, to: index + 1 + groups!.text!.length, kind: "string" }
        : { from: index, to: index + groups!.number.length, kind: "number" },
    );
  }
  if (!formShape.test(text)) return [{ from: 0, to: text.length, kind: "text" }];
  return Array.from(text.matchAll(/[^=&]+/g), ({ 0: part, index }) => ({
    from: index,
    to: index + part.length,
    kind: "text",
  }));
}

/** Masks an answer's bytes, whatever their encoding: Latin-1 maps each byte to one character and back. */
export function maskCardBytes(bytes: Uint8Array, card: MaskedCard): Uint8Array {
  return Buffer.from(maskCard(Buffer.from(bytes).toString("latin1"), card), "latin1");
}

function maskOthers(text: string, card: SoughtCard): string {
  if (isJson(text)) return maskJson(text, card);
  if (formShape.test(text)) return maskForm(text, card);
  return isWhole(text) ? text : maskText(text);
}

function isJson(text: string): boolean {
  const bare = text.startsWith(byteOrderMark) ? text.slice(byteOrderMark.length) : text;
  // A lone number is JSON too, and a whole value in either reading.
  if (!/^\s*[[{"]/.test(bare)) return false;
  try {
    JSON.parse(bare);
    return true;
  } catch {
    return false;
  }
}

function maskJson(json: string, card: SoughtCard): string {
  let name = "";
  return json.replace(jsonToken, (...found: unknown[]) => {
    const { text, colon, number } = found.at(-1) as { text?: string; colon?: string; number?: string };
    if (number !== undefined) {
      const masked = maskValue(name, number, card);
      // Keeps the JSON valid, or the rest of the answer could not be read.
      return masked === number ? number : `"${masked}"`;
    }
    if (colon === undefined) return `"${maskValue(name, text ?? "", card)}"`;
    name = text ?? "";
    return `"${maskText(name)}"${colon}`;
  });
}

function maskForm(form: string, card: SoughtCard): string {
  const maskPair = (pair: string) => {
    const equals = pair.indexOf("=");
    const path = pair.slice(0, equals).replaceAll(/%5B/gi, "[").replaceAll(/%5D/gi, "]");
    const name = /\[([^[\]]+)\]$/.exec(path)?.[1] ?? path;
    return `${pair.slice(0, equals)}=${maskValue(name, pair.slice(equals + 1), card)}`;
  };
  return form.split("&").map(maskPair).join("&");
}

function maskValue(name: string, value: string, { cvc, isHolder }: SoughtCard): string {
  if ((value === cvc && cvcName.test(name)) || isHolder(name, value)) return "*".repeat(value.length);
  return isWhole(value) && !numberName.test(name) ? value : maskText(value);
}

/** Reports whether a value is digits only: a reference, a time, an amount. */
function isWhole(value: string): boolean {
  return /^[0-9]+$/.test(value);
}

function maskText(text: string): string {
  return text.replace(uuidOrNumber, (match, number?: string) =>
    number !== undefined && isNetworkNumber(number.replace(/[ -]/g, "")) ? maskDigits(match) : match,
  );
}

function maskDigits(match: string): string {
  let hidden = match.replace(/[^0-9]/g, "").length - shownDigits;
  return match.replace(/[0-9]/g, (digit) => (hidden-- > 0 ? "*" : digit));
}
