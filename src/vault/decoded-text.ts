/**
 * Decodes text as its reader will see it, with the position of every character in the original: escapes of JSON,
 * addresses and markup are undone. PURE.
 */

/** Characters, with the start and end of each in the original text. */
export type Decoded = { readonly text: string; readonly starts: Int32Array; readonly ends: Int32Array };

type Meaning = (match: RegExpMatchArray) => string | undefined;
type Decoder = { readonly pattern: RegExp; readonly meaning: Meaning };

const jsonLetters: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f" };
const json: Decoder = {
  // JSON has no \x; programs that print objects write it.
  pattern: /\\(?:(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))|(["\\/bfnrt]))/g,
  meaning: ([, wide, narrow, letter = ""]) => {
    const unit = wide ?? narrow;
    if (unit === undefined) return jsonLetters[letter] ?? letter;
    return String.fromCharCode(Number.parseInt(unit, 16));
  },
};
const percent: Decoder = {
  pattern: /%([0-9a-fA-F]{2})/g,
  meaning: ([, byte = ""]) => String.fromCharCode(Number.parseInt(byte, 16)),
};
// Texts are bytes read as Latin-1.
const utf8: Decoder = {
  pattern: /[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}/g,
  meaning: ([bytes]) => Buffer.from(bytes!, "latin1").toString(),
};
// Entities that count as separators between digits, and those that encode a character. Leading zeros are bounded, as is
// every repetition here.
const named: Readonly<Record<string, string>> = { quot: '"', apos: "'", amp: "&", lt: "<", gt: ">" };
const spaces = new Set(["nbsp", "ensp", "emsp", "thinsp", "tab", "newline", "shy", "ndash", "mdash", "hyphen", "dash"]);
const entity: Decoder = {
  pattern: /&(?:#0{0,8}([0-9]{1,7})|#[xX]0{0,8}([0-9a-fA-F]{1,6})|([A-Za-z]{2,8}));/g,
  meaning: ([, decimal, hex, name = ""]) => {
    if (name !== "") return named[name.toLowerCase()] ?? (spaces.has(name.toLowerCase()) ? " " : undefined);
    const point = decimal === undefined ? Number.parseInt(hex!, 16) : Number(decimal);
    return point <= 0x10ffff ? String.fromCodePoint(point) : undefined;
  },
};

/** Joins parts of a text, each after a NUL character, which occurs in no part and has no position in the original. */
export function joined(sent: string, parts: readonly { readonly from: number; readonly to: number }[]): Decoded {
  const length = parts.reduce((sum, { from, to }) => sum + to - from + 1, 0);
  const starts = new Int32Array(length);
  const ends = new Int32Array(length);
  let at = 0;
  for (const { from, to } of parts) {
    at++;
    for (let place = from; place < to; place++, at++) {
      starts[at] = place;
      ends[at] = place + 1;
    }
  }
  return { text: parts.map(({ from, to }) => `\0${sent.slice(from, to)}`).join(""), starts, ends };
}

/** Returns the values of JSON strings that consist of these characters. */
export function fromJsonStrings(sent: Decoded): Decoded {
  return decode(sent, json);
}

/**
 * Yields the text in every way in which it may be read, the plainest first, since it is unknown if `%34` is a 4 or a
 * percentage. Three encodings, undone or not, in this order, so eight ways at most. Each is made on request, none is
 * longer than the original, and four are kept at a time.
 */
export function* readings(sent: Decoded): Generator<Decoded> {
  for (const unescaped of eitherWay(sent, json)) {
    for (const bytes of eitherWay(unescaped, percent)) yield* eitherWay(decode(bytes, utf8), entity);
  }
}

function* eitherWay(way: Decoded, decoder: Decoder): Generator<Decoded> {
  yield way;
  const decoded = decode(way, decoder);
  if (decoded !== way) yield decoded;
}

function decode(from: Decoded, { pattern, meaning }: Decoder): Decoded {
  const { text } = from;
  const parts: string[] = [];
  // A decoded character is never longer than its encoding.
  const starts = new Int32Array(text.length);
  const ends = new Int32Array(text.length);
  let at = 0;
  let length = 0;
  const copyUntil = (end: number) => {
    parts.push(text.slice(at, end));
    starts.set(from.starts.subarray(at, end), length);
    ends.set(from.ends.subarray(at, end), length);
    length += end - at;
    at = end;
  };
  for (const match of text.matchAll(pattern)) {
    const meant = meaning(match);
    if (meant === undefined) continue;
    copyUntil(match.index);
    at += match[0].length;
    parts.push(meant);
    starts.fill(from.starts[match.index]!, length, length + meant.length);
    ends.fill(from.ends[at - 1]!, length, length + meant.length);
    length += meant.length;
  }
  if (at === 0) return from;
  copyUntil(text.length);
  return { text: parts.join(""), starts: starts.subarray(0, length), ends: ends.subarray(0, length) };
}

/** Returns the positions of all non-overlapping occurrences, in time linear in both lengths (Knuth, Morris, Pratt). */
export function findAll(text: string, sought: string): number[] {
  const fallback = [0];
  for (let at = 1, known = 0; at < sought.length; at++) {
    while (known > 0 && sought[at] !== sought[known]) known = fallback[known - 1]!;
    if (sought[at] === sought[known]) known++;
    fallback.push(known);
  }
  const found: number[] = [];
  for (let at = 0, known = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    while (known > 0 && unit !== sought.charCodeAt(known)) known = fallback[known - 1]!;
    if (unit === sought.charCodeAt(known)) known++;
    if (known < sought.length) continue;
    found.push(at + 1 - known);
    known = 0;
  }
  return found;
}
