/**
 * Removes the card holder's name from a gateway's answer, which may repeat it, and keeps codes and references intact.
 * Pure.
 */

/** Members that count as a name if they contain the holder's text. */
const nameOfNames = /(?:name|holder)$/i;

// A match must not begin inside a JSON escape: the rest of the escape would make the answer unreadable.
const notInEscape = "(?<!\\\\(?:u[0-9A-Fa-f]{0,3})?)";

/** The two ways of finding one card's holder. */
export type HolderMask = {
  /** The name, if it is to be masked anywhere. */
  readonly nameAnywhere: string | undefined;
  /** Reports whether the member called `name` contains the name and nothing else. */
  readonly isHolder: (name: string, value: string) => boolean;
};

/**
 * Returns the masks for texts read as Latin-1. Only a name with a space or a letter beyond ASCII is masked everywhere:
 * a status, a code or a reference has neither, and a customer who gives "succeeded" as a name must not change one. One
 * plain word is masked only in a member called a name.
 */
export function holderMaskOf(holder = ""): HolderMask {
  const name = holder.trim();
  if (name === "") return { nameAnywhere: undefined, isHolder: () => false };
  const pattern = patternOf(name);
  const whole = new RegExp(`^${pattern.source}$`);
  const isSafeAnywhere = /\p{L}/u.test(name) && /\s|[^\x20-\x7e]/.test(name);
  return {
    nameAnywhere: isSafeAnywhere ? name : undefined,
    isHolder: (member, value) => nameOfNames.test(member) && whole.test(value.trim()),
  };
}

function patternOf(name: string): RegExp {
  return new RegExp(notInEscape + Array.from(name, anyForm).join(""), "g");
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
