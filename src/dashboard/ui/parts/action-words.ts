/** What an entry of the audit trail says that was done. */

/** `RegenerateApiKey` as `Regenerate api key`. */
export function inWords(action: string): string {
  return action.replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
