/** Extracts the part of an endpoint's answer that the delivery log keeps. Pure. */

// 13 to 19 digits, possibly in groups: the length of card numbers (ISO/IEC 7812).
const cardLike = /\d(?:[ -]?\d){12,18}/g;
// Keys and signing secrets carry their kind in the middle, after a brand.
const secretLike = /\b\w*(?:whsec|sk)_[A-Za-z0-9+/=_]{16,}/g;
// Characters that a text column refuses, that control a terminal, or that reverse the text after them.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const control = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;

/** Reads the bytes as text and blanks what could be a card number or a secret: some endpoints echo their input. */
export function excerptAnswer(bodyStart: Uint8Array): string {
  return new TextDecoder()
    .decode(bodyStart)
    .replace(control, "")
    .replace(secretLike, "[redacted]")
    .replace(cardLike, "[redacted]");
}
