/** Estimates whether a secret can be guessed, as far as its text shows. PURE. */

// 16 random letters and digits are 95 bits; secrets that people make up have fewer, whatever their length.
const charactersMin = 16;
const differentLeast = 8;
// Words found in examples, in images and at the top of every list of passwords.
const knownWords =
  /change[-_]?me|change[-_]?this|your[-_]|password|passwort|passw0rd|secret|example|sample|default|letmein|qwerty|hunter2|switchyard|postgres|admin|root|demo|test|live|none|nats|0?123456789?|abcdef/gi;
const repeated = /^(.{1,8}?)\1+.{0,7}$/;

/** Returns why it could be guessed; undefined for a good one. */
export function weaknessOf(secret: string): string | undefined {
  if (/[…<>]/.test(secret)) return "is the text of an example";
  if (secret.length < charactersMin) return `is shorter than ${charactersMin} characters`;
  // The rest without the words has to be long enough by itself: a word may occur in random letters.
  const rest = secret.replaceAll(knownWords, "");
  if (rest.length < charactersMin) return "is made of common words";
  if (new Set(rest).size < differentLeast || repeated.test(secret)) return "repeats itself";
  return undefined;
}
