/** The part of an endpoint's answer that the delivery log keeps. Pure. */

// 13 to 19 digits, also in groups: the length of card numbers (ISO/IEC 7812).
const cardLike = /\d(?:[ -]?\d){12,18}/g;
// Keys and signing secrets carry their kind in the middle, whoever's brand stands before it.
const secretLike = /\b\w*(?:whsec|sk)_[A-Za-z0-9+/=_]{16,}/g;
// What a text column refuses, a terminal would obey, or turns the text after it around.
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
