/** Public identifiers: TypeIDs, a prefix and a UUIDv7 in Crockford base32 (https://github.com/jetify-com/typeid/tree/main/spec, 0.3.0). */

/** The public prefix of each kind of object. */
export type IdPrefix =
  | "ps"
  | "att"
  | "evt"
  | "we"
  | "gc"
  | "mer"
  | "req"
  | "key"
  | "aud"
  | "op"
  | "wi"
  | "cmp"
  | "ntc"
  | "mbr"
  | "inv"
  | "sgn";

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
// The first of the 26 digits carries only 3 bits and so is at most 7.
const suffixPattern = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/;

/** Returns a public id: `ps` and a UUID give `ps_01h2xcejqtf2nbrexx3vqjhp41`. */
export function encodeId(prefix: IdPrefix, uuid: string): string {
  let suffix = "";
  // Two zero bits before the 128 of the UUID make 26 digits of 5.
  let bits = 0;
  let bitsHeld = 2;
  for (const hexDigit of uuid) {
    if (hexDigit === "-") continue;
    bits = (bits << 4) | Number.parseInt(hexDigit, 16);
    bitsHeld += 4;
    if (bitsHeld < 5) continue;
    bitsHeld -= 5;
    suffix += alphabet[bits >> bitsHeld];
    bits &= (1 << bitsHeld) - 1;
  }
  return `${prefix}_${suffix}`;
}

/** Returns the UUID of a public identifier, of any version, or undefined if it is not one with this prefix. */
export function decodeId(prefix: IdPrefix, id: string): string | undefined {
  const suffix = id.slice(prefix.length + 1);
  if (!id.startsWith(`${prefix}_`) || !suffixPattern.test(suffix)) return undefined;
  let value = 0n;
  for (const digit of suffix) value = (value << 5n) | BigInt(alphabet.indexOf(digit));
  const hex = value.toString(16).padStart(32, "0");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
