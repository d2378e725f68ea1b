/**
 * Checks a header's value before a transport does: a transport's error would repeat the value, which may be a secret.
 */

/** Returns the text unchanged. Throws TypeError, without the text, if no header can carry it. */
export function checkHeaderText(name: string, text: string): string {
  if (/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text)) return text;
  throw new TypeError(`${name} must be printable ASCII, without a space or a line's end around it.`);
}
