/** Removes the card's own number and its holder's name from an answer, in every encoding. PURE. */
import { type Decoded, findAll, fromJsonStrings, joined, readings } from "./decoded-text.ts";

/** A part of an answer that contains values: its start and end, and if it is a string or number of JSON. */
export type Part = { readonly from: number; readonly to: number; readonly kind: "string" | "number" | "text" };

const shownDigits = 4;
/** The replacement of an original character: a star, or nothing (the rest of an escape). Unmarked ones stay. */
const starred = 1;
const dropped = 2;

/**
 * Masks these parts of a text. The number's digits may be spread over consecutive parts; parts without a digit in
 * between do not count. `name` is undefined if the holder's name is not to be searched for.
 */
export function maskOwn(
  sent: string,
  parts: readonly Part[],
  { number, name }: { readonly number: string; readonly name: string | undefined },
): string {
  const marks = new Uint8Array(sent.length);
  // Numbers of JSON have no escapes, and no escape extends into the next part.
  const isJson = parts.some(({ kind }) => kind === "string");
  const readingsOf = (some: readonly Part[]) => {
    const all = joined(sent, some);
    return readings(isJson ? fromJsonStrings(all) : all);
  };
  const withDigits = parts.filter(({ from, to }) => /[0-9]/.test(sent.slice(from, to)));
  for (const reading of readingsOf(withDigits)) markNumber(marks, reading, number);
  if (name !== undefined) for (const reading of readingsOf(parts)) markName(marks, reading, name);
  return written(sent, parts, marks);
}

/** Marks the number. A letter separates two numbers; anything else may occur between the digits of one. */
function markNumber(marks: Uint8Array, { text, starts, ends }: Decoded, number: string): void {
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
