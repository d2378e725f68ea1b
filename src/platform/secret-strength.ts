/** Whether a secret can be guessed, as far as its text shows. PURE. */

// 16 random letters and digits are 95 bits; what people make up has fewer, whatever its length.
const charactersLeast = 16;
const differentLeast = 8;
// What stands in examples, in images and at the top of every list of passwords.
const knownWords =
  /change[-_]?me|change[-_]?this|your[-_]|password|passwort|passw0rd|secret|example|sample|default|letmein|qwerty|hunter2|switchyard|postgres|admin|root|demo|test|live|none|nats|0?123456789?|abcdef/gi;
const repeated = /^(.{1,8}?)\1+.{0,7}$/;

/** Why somebody could guess it; undefined for a good one. */
export function weaknessOf(secret: string): string | undefined {
  if (/[…<>]/.test(secret)) return "is the text of an example";
  if (secret.length < charactersLeast) return `is shorter than ${charactersLeast} characters`;
  // What is left without the words has to be long enough by itself: a word may turn up in random letters.
  const rest = secret.replaceAll(knownWords, "");
  if (rest.length < charactersLeast) return "is made of words that everybody tries";
  if (new Set(rest).size < differentLeast || repeated.test(secret)) return "repeats itself";
  return undefined;
}
