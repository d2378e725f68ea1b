/** Searches everything that a run leaves behind for a card or a secret, in every form that a leak could take. */

/** A form of a value, and the pattern that recognizes it in text read as Latin-1. */
export type Trace = { readonly form: string; readonly pattern: RegExp };

// Up to three bytes of anything that is no letter or digit: blanks, dashes, quotes with a comma, the zeros of UTF-16.
const separator = "[^0-9A-Za-z]{0,3}";
/** Short enough to find a number that was cut up, long enough that no clock or counter holds one by chance. */
const partDigits = 8;

/** The forms of a card number as text, whole. */
export function tracesOfNumber(number: string): Trace[] {
  const bytes = Buffer.from(number);
  return [
    { form: "digits, split or not", pattern: new RegExp([...number].join(separator)) },
    { form: "digits from the end", pattern: new RegExp([...number].reverse().join("")) },
    { form: "hexadecimal", pattern: new RegExp(bytes.toString("hex"), "i") },
    ...base64Parts(bytes).map((part) => ({ form: "base64", pattern: literal(part) })),
  ];
}

/** The forms of a card number as bytes. For a number with many zeros they occur everywhere by chance. */
export function tracesOfBytes(number: string): Trace[] {
  const integer = Buffer.alloc(8);
  integer.writeBigInt64BE(BigInt(number));
  const packed = number.length % 2 === 0 ? number : `0${number}`;
  return [
    { form: "an integer of eight bytes", pattern: literal(integer.toString("latin1")) },
    { form: "an integer of eight bytes, reversed", pattern: literal(integer.reverse().toString("latin1")) },
    { form: "packed decimals", pattern: literal(Buffer.from(packed, "hex").toString("latin1")) },
  ];
}

/** Every run of eight digits of a number, for one whose digits repeat so little that chance makes none. */
export function tracesOfParts(number: string): Trace[] {
  return Array.from({ length: number.length - partDigits + 1 }, (_, start) => {
    const part = number.slice(start, start + partDigits);
    return { form: `digits ${start + 1} to ${start + partDigits}`, pattern: new RegExp(part) };
  });
}

/** A CVC is significant only beside its name: three or four digits are everywhere. */
export function tracesOfCvc(cvc: string): Trace[] {
  const name = "(?:cvc|cvv|csc|cvn|security.?code|verification)";
  return [
    {
      form: "the CVC beside its name",
      pattern: new RegExp(`${name}2?(?:%[0-9a-f]{2}|[^0-9]){0,24}${cvc}(?![0-9])`, "i"),
    },
  ];
}

/** Text that is random enough to be searched as it is: a secret, a name. */
export function tracesOfText(what: string, text: string): Trace[] {
  const bytes = Buffer.from(text);
  return [
    { form: what, pattern: literal(text) },
    { form: `${what}, in hexadecimal`, pattern: literal(bytes.toString("hex")) },
    { form: `${what}, form-encoded`, pattern: literal(encodeURIComponent(text)) },
    ...base64Parts(bytes).map((part) => ({ form: `${what}, in base64`, pattern: literal(part) })),
  ];
}

// More than any form spans: see `tracesOfCvc`.
const zerosKept = "\0".repeat(32);

/** Shortens long runs of zeros, of which the files of a database mostly consist, so that every form is still found. */
export function withoutLongZeros(text: string): string {
  // A pattern for the runs overflows the stack with 16 MB of them.
  const parts = text.split(zerosKept);
  return parts.filter((part) => part !== "").join(zerosKept);
}

/** Returns the forms in which any of the traces occurs in the text. */
export function findTraces(text: string, traces: readonly Trace[]): string[] {
  return [...new Set(traces.filter(({ pattern }) => pattern.test(text)).map(({ form }) => form))];
}

/** Returns the base64 of these bytes within any text: one of three alignments, without the letters at the edges. */
function base64Parts(bytes: Buffer): string[] {
  return [0, 1, 2].map((shift) => {
    const encoded = Buffer.concat([Buffer.alloc(shift), bytes])
      .toString("base64")
      .replaceAll("=", "");
    // The first letters hold bits of what stands before, the last one of what stands behind.
    return encoded.slice(shift === 0 ? 0 : shift + 1, -1);
  });
}

function literal(text: string): RegExp {
  return new RegExp(text.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&"));
}
