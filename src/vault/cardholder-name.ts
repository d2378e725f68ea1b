/** Writes a cardholder's name in the characters that messages of EMV 3DS carry. PURE. */
import anyAscii from "any-ascii";

// EMV 3DS 2.2.0, table A.1, cardholderName: 2 to 45 characters.
const charactersMin = 2;
const charactersMax = 45;
// The message requires a name, and a page may ask for none.
const noName = "Cardholder";

/**
 * Returns the name in Latin letters, digits and the marks of names, cut to the message's length; a neutral word where
 * nothing of a name is left.
 */
export function emvNameOf(holder = ""): string {
  const latin = anyAscii(holder.replaceAll(/\p{Extended_Pictographic}/gu, " "));
  const name = latin
    .replaceAll(/[^\sA-Za-z0-9.,'/&()-]/g, "")
    .replaceAll(/\s+/g, " ")
    .trim()
    .slice(0, charactersMax)
    .trim();
  return name.length >= charactersMin && /[A-Za-z]/.test(name) ? name : noName;
}
