/** Test fixture: changes each byte of a token, and of its encoded parts, by one bit. */
import { isDeepStrictEqual } from "node:util";
import { membersOf, readBase64, readHash } from "./token-parts.ts";

/**
 * Returns how many changed texts were tried, and those that `open` accepted, or failed to refuse by a check. A text that is
 * another spelling of the same JSON is no change: inner texts, which are signed, are compared by letter.
 */
export function findAcceptedChanges(
  text: string,
  open: (candidate: string) => unknown,
): { readonly tried: number; readonly accepted: string[] } {
  const original: unknown = JSON.parse(text);
  const accepted: string[] = [];
  let tried = 0;
  const attempt = (changed: string, what: string) => {
    tried++;
    try {
      open(changed);
    } catch (error) {
      // Any other error would be our mistake.
      if (!["RefusedToken", "DomainError"].includes((error as Error).name)) accepted.push(`${what}: ${String(error)}`);
      return;
    }
    if (!isDeepStrictEqual(JSON.parse(changed), original)) accepted.push(what);
  };
  for (let at = 0; at < text.length; at++) {
    // Another bit at each byte: a case, a digit, a letter beyond ASCII.
    const code = text.charCodeAt(at) ^ (1 << (at % 8));
    attempt(text.slice(0, at) + String.fromCharCode(code) + text.slice(at + 1), `${at}: ${text[at]} as ${code}`);
  }
  for (const { encoded, bytes, encoding } of encodedIn(original)) {
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed[at]! ^= 1 << (at % 8);
      attempt(
        text.replace(JSON.stringify(encoded), JSON.stringify(changed.toString(encoding))),
        `${encoded}, byte ${at}`,
      );
    }
  }
  return { tried, accepted };
}

/** Returns the bytes that a token's members encode: signatures, data and the header. */
function encodedIn(
  value: unknown,
): readonly { readonly encoded: string; readonly bytes: Buffer; readonly encoding: "hex" | "base64" }[] {
  if (typeof value !== "string") {
    const members = Array.isArray(value) ? value : Object.values(membersOf(value) ?? {});
    return members.flatMap(encodedIn);
  }
  const hash = readHash(value);
  if (hash !== undefined) return [{ encoded: value, bytes: hash, encoding: "hex" }];
  const bytes = readBase64(value);
  return bytes === undefined ? [] : [{ encoded: value, bytes, encoding: "base64" }];
}

/** Returns what refused the token, or that it was opened. */
export const codeOf = (open: () => unknown) => {
  try {
    open();
    return "opened";
  } catch (error) {
    const { check, code } = error as { check?: string; code?: string };
    return check ?? code ?? String(error);
  }
};
