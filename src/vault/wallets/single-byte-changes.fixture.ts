/** Test fixture: tries every change of a single byte of a token. */
import { isDeepStrictEqual } from "node:util";

/**
 * Returns how many changed texts were tried, and those that `open` accepted, or failed to refuse by a check. A text that is another spelling of the same JSON
 * is no change: inner texts, which are signed, are compared by letter.
 */
export function findAcceptedChanges(
  text: string,
  open: (candidate: string) => unknown,
): { readonly tried: number; readonly accepted: string[] } {
  const original: unknown = JSON.parse(text);
  const accepted: string[] = [];
  let tried = 0;
  for (let at = 0; at < text.length; at++) {
    // Another bit at each byte: a case, a digit, a letter beyond ASCII.
    const code = text.charCodeAt(at) ^ (1 << (at % 8));
    const changed = text.slice(0, at) + String.fromCharCode(code) + text.slice(at + 1);
    tried++;
    try {
      open(changed);
    } catch (error) {
      // Whatever else is thrown would be an error of ours.
      if (!["RefusedToken", "DomainError"].includes((error as Error).name)) accepted.push(`${at}: ${String(error)}`);
      continue;
    }
    if (!isDeepStrictEqual(JSON.parse(changed), original)) accepted.push(`${at}: ${text.slice(at, at + 1)} as ${code}`);
  }
  return { tried, accepted };
}
