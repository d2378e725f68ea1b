/** The action of an audit trail entry, in words. */

/** Returns `Regenerate api key` for `RegenerateApiKey`. */
export function inWords(action: string): string {
  return action.replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
