/**
 * Removes card data from a gateway's answer, before any other code reads it, and keeps the gateway's references intact.
 * PURE.
 */
import { type Card, isNetworkNumber } from "./card.ts";
import { type Decoded, findAll, fromJsonStrings, joined, readings } from "./decoded-text.ts";

/** The values that must not be in an answer. */
export type MaskedCard = Pick<Card, "number" | "cvc" | "holder"> & {
  /** A device's cryptogram, in base64. */
  readonly cryptogram?: string | undefined;
};

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
const cvcName =
  /^[a-z_-]*(?:cvc|cvv|cvn|csc|cid|security[_-]?code|card[_-]?verification|verification[_-]?(?:value|code))2?$/i;

/**
 * Masks a header or a body read as Latin-1. Lengths and separators stay, and the last four digits of each number.
 * - The card's own number is masked everywhere: escaped, split by anything but letters, or over consecutive members. An
 *   escape is masked with its digit.
 * - Its CVC is masked in a member of that name: three digits anywhere else have no meaning.
 * - Its cryptogram is masked everywhere: in base64 of either alphabet, and in hexadecimal.
 * - Its holder's name is masked everywhere; one plain word, which could be a code, only in a member called a name.
 * - Any other number that a card could have is masked within text: split into groups, or among other words.
 * - A whole value of digits, as gateways write references, stays, unless its name says that it is a card's: one in ten
 *   of them passes Luhn, and a hold whose reference is masked could be neither captured nor voided.
 */
export function maskCard(text: string, card: MaskedCard): string {
  const holder = holderMaskOf(card.holder);
  const { number, cryptogram } = card;
  const own = maskOwn(text, partsOf(text), { number, cryptogram, name: holder.nameAnywhere });
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

/** A part of an answer that contains values: its start and end, and if it is a string or number of JSON. */
type Part = { readonly from: number; readonly to: number; readonly kind: "string" | "number" | "text" };

/** The replacement of an original character: a star, or nothing (the rest of an escape). Unmarked ones stay. */
const starred = 1;
const dropped = 2;

/**
 * Masks these parts of a text. The number's digits may be spread over consecutive parts; parts without a digit in
 * between do not count. `name` is undefined if the holder's name is not to be searched for.
 */
function maskOwn(
  sent: string,
  parts: readonly Part[],
  {
    number,
    cryptogram,
    name,
  }: { readonly number: string; readonly cryptogram: string | undefined; readonly name: string | undefined },
): string {
  const marks = new Uint8Array(sent.length);
  // Numbers of JSON have no escapes, and no escape extends into the next part.
  const isJson = parts.some(({ kind }) => kind === "string");
  const readingsOf = (some: readonly Part[]) => {
    const all = joined(sent, some);
    return readings(isJson ? fromJsonStrings(all) : all);
  };
  const withDigits = parts.filter(({ from, to }) => anyDigit.test(sent.slice(from, to)));
  for (const reading of readingsOf(withDigits)) markNumber(marks, reading, number);
  if (cryptogram !== undefined) for (const reading of readingsOf(parts)) markCryptogram(marks, reading, cryptogram);
  if (name !== undefined) for (const reading of readingsOf(parts)) markName(marks, reading, name);
  return written(sent, parts, marks);
}

/** Digits, of full width too: those are read as Latin-1 here. */
const anyDigit = /[0-9]|\xef\xbc/;

/** Marks the number. A letter separates two numbers; anything else may occur between the digits of one. */
function markNumber(marks: Uint8Array, { text: sent, starts, ends }: Decoded, number: string): void {
  const text = sent.replace(/[\uff10-\uff19]/g, (digit) => String.fromCharCode(digit.charCodeAt(0) - 0xfee0));
  const founds = findAll(text.replace(/[^0-9A-Za-z]+/g, ""), number);
  if (founds.length === 0) return;
  const places = placesOf(text);
  for (const found of founds) {
    for (const place of places.subarray(found, found + number.length - shownDigits)) {
      marks.fill(dropped, starts[place], ends[place]);
      marks[starts[place]!] = starred;
    }
  }
}

/** Returns the position of each digit and letter of a text. */
function placesOf(text: string): Int32Array {
  const places = new Int32Array(text.length);
  let count = 0;
  for (const { index } of text.matchAll(/[0-9A-Za-z]/g)) places[count++] = index;
  return places.subarray(0, count);
}

/** Marks the cryptogram at full length, in every way of writing its bytes. A form may have written a plus as a space. */
function markCryptogram(marks: Uint8Array, { text, starts, ends }: Decoded, cryptogram: string): void {
  const base64 = (written: string) => written.replaceAll(/[- ]/g, "+").replaceAll("_", "/");
  const hex = Buffer.from(cryptogram, "base64").toString("hex");
  const places = [
    ...spansOf(base64(text), base64(cryptogram).replace(/=+$/, "")),
    ...spansOf(
      text.replaceAll(/[A-F]/g, (digit) => digit.toLowerCase()),
      hex,
    ),
  ];
  for (const place of places) marks.fill(starred, starts[place], ends[place]);
}

/** Returns every place of a text that an occurrence takes. */
function spansOf(text: string, sought: string): number[] {
  return findAll(text, sought).flatMap((found) => Array.from({ length: sought.length }, (_, at) => found + at));
}

/** Marks the name at full length, in either case. A form writes a space as a plus. */
function markName(marks: Uint8Array, { text, starts, ends }: Decoded, name: string): void {
  const sought = folded(name);
  for (const found of findAll(folded(text), sought)) {
    for (let place = found; place < found + sought.length; place++) marks.fill(starred, starts[place], ends[place]);
  }
}

function folded(text: string): string {
  const lower = text.toLowerCase().replaceAll("+", " ");
  if (lower.length === text.length) return lower;
  return Array.from({ length: text.length }, (_, at) => text[at]!.toLowerCase().slice(0, 1)).join("");
}

/** Writes the masked text. JSON stays valid where a number was masked, or the rest of the answer could not be read. */
function written(sent: string, parts: readonly Part[], marks: Uint8Array): string {
  if (!marks.includes(starred)) return sent;
  const shown = (from: number, to: number) => {
    const characters: string[] = [];
    for (let at = from; at < to; at++) {
      if (marks[at] !== dropped) characters.push(marks[at] === starred ? "*" : sent[at]!);
    }
    return characters.join("");
  };
  let at = 0;
  let text = "";
  for (const { from, to, kind } of parts) {
    const value = shown(from, to);
    const quote = kind === "number" && value !== sent.slice(from, to) ? '"' : "";
    text += sent.slice(at, from) + quote + value + quote;
    at = to;
  }
  return text + sent.slice(at);
}

/** Members that count as a name if they contain the holder's text. */
const nameOfNames = /(?:name|holder)$/i;

/** The two ways of finding one card's holder. */
type HolderMask = {
  readonly nameAnywhere: string | undefined;
  /** Reports whether the member called `name` contains the name and nothing else. */
  readonly isHolder: (name: string, value: string) => boolean;
};

/**
 * Returns the masks for texts read as Latin-1. Only a name with a space or a letter beyond ASCII is masked everywhere:
 * a status, a code or a reference has neither, and a customer who gives "succeeded" as a name must not change one. One
 * plain word is masked only in a member called a name.
 */
function holderMaskOf(holder = ""): HolderMask {
  const name = holder.trim();
  if (name === "") return { nameAnywhere: undefined, isHolder: () => false };
  // This is made at the first member called a name: making it takes longer than masking most answers.
  let whole: RegExp | undefined;
  const isSafeAnywhere = /\p{L}/u.test(name) && /\s|[^\x20-\x7e]/.test(name);
  return {
    nameAnywhere: isSafeAnywhere ? name : undefined,
    isHolder(member, value) {
      if (!nameOfNames.test(member)) return false;
      whole ??= patternOf(name);
      return whole.test(value.trim());
    },
  };
}

function patternOf(name: string): RegExp {
  return new RegExp(`^${Array.from(name, anyForm).join("")}$`);
}

/** Returns a pattern of one character, in either case: as it is, in JSON, in a form, or in markup. */
function anyForm(character: string): string {
  const cases = [character, character.toLowerCase(), character.toUpperCase()];
  return `(?:${[...new Set(cases.flatMap(formsOf))].join("|")})`;
}

function formsOf(character: string): string[] {
  const bytes = Buffer.from(character);
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  const point = character.codePointAt(0) ?? 0;
  const forms = [
    units.map((unit) => String.raw`\\u${anyCase(unit.toString(16).padStart(4, "0"))}`).join(""),
    [...bytes].map((byte) => `%${anyCase(byte.toString(16).padStart(2, "0"))}`).join(""),
    `&#${point};`,
    `&#[xX]0*${anyCase(point.toString(16))};`,
  ];
  if (character === " ") forms.push(String.raw`\+`);
  // A bare quote ends a JSON string, and a bare backslash begins an escape: only their escapes are text.
  if (character === '"' || character === "\\") forms.push(`\\\\${escaped(character)}`);
  else forms.push(escaped(bytes.toString("latin1")));
  if (point > 0x7f && point <= 0xff) forms.push(escaped(character));
  return forms;
}

function anyCase(hex: string): string {
  return hex.replace(/[a-f]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
}
