/** Checks what is sent as a header before a transport does, whose error would repeat it: it may be a secret. */

/** The text as it is. Throws TypeError, without the text, for one that no header can carry. */
export function checkHeaderText(name: string, text: string): string {
  if (/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text)) return text;
  throw new TypeError(`${name} must be printable ASCII, without a space or a line's end around it.`);
}
