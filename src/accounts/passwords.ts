/** Passwords of members: the rules for them, their storage and their reconciliation. */
import { type Argon2Parameters, argon2, randomBytes, randomUUID } from "node:crypto";
import { promisify } from "node:util";
import type { ZxcvbnFactory } from "@zxcvbn-ts/core";
import { equalInConstantTime, type Secret } from "../platform/secrets.ts";
import { type Hasher, HashQueue } from "./hash-queue.ts";
import type { Member } from "./members.ts";

// Length of a password: long enough to resist guessing at the throttled rate without rules about digits, beside a list
// of common passwords (NIST SP 800-63B-4, 3.1.1.2); short enough to hash.
const passwordCharacters = { min: 12, max: 128 } as const;

// https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html (2026): argon2id with 19 MiB, two
// passes and one lane; RFC 9106 gives the lengths of salt and tag.
const cost = { memory: 19_456, passes: 2, parallelism: 1 } as const;
const saltBytes = 16;
const tagBytes = 32;

// Each takes 19 MiB and about 30 ms of a core, in node's pool of four threads, which files and names need too.
const hash = promisify(argon2);
const queue = new HashQueue();

/** Throws `unavailable` or `rate_limited` if no hash of this hasher can be admitted now. */
export function requireHashingRoom(hasher: Hasher): void {
  queue.requireRoom(hasher);
}

/** Returns why a password is not accepted, as the end of a sentence after its field; undefined if it is. */
export async function findPasswordProblem(
  password: Secret,
  owner: Pick<Member, "email" | "name">,
): Promise<string | undefined> {
  const text = password.expose().normalize("NFKC");
  const characters = [...text].length;
  const { min, max } = passwordCharacters;
  if (characters < min || characters > max) return `must have ${min} to ${max} characters`;
  if (new Set(text).size < 5) return "must have at least five different characters";
  const own = ownWordsOf(owner);
  const rest = own.reduce((left, word) => left.replaceAll(word, ""), text.toLowerCase());
  if (rest.length < text.length && rest.replace(/[^\p{L}\p{N}]/gu, "").length < min / 2) {
    return "must be more than your name or your address and a few characters";
  }
  const guessing = await guessingOf();
  if (guessing.check(text, [...own]).guesses < guessesMin) {
    return "must not be a common password or a pattern that is easy to guess";
  }
  return undefined;
}

// Fewer is "somewhat guessable" to zxcvbn: a few years at the throttled rate of one account, but an hour for an
// attacker who tries a list on many.
const guessesMin = 1e8;
// A longer password is judged by its beginning: the estimate takes longer than linear time.
const judgedCharacters = 64;
let guessingEver: Promise<ZxcvbnFactory> | undefined;

/** Loads the list of common passwords, 20 MB in memory, at the first password that is chosen. */
function guessingOf(): Promise<ZxcvbnFactory> {
  guessingEver ??= Promise.all([import("@zxcvbn-ts/core"), import("@zxcvbn-ts/language-common")]).then(
    ([{ ZxcvbnFactory }, { adjacencyGraphs: graphs, dictionary }]) =>
      new ZxcvbnFactory({ dictionary, graphs, maxLength: judgedCharacters }),
  );
  return guessingEver;
}

// Shorter parts of a name are in many words.
const ownWordCharacters = 3;

/** Returns a member's address and name with their parts, longest first. */
function ownWordsOf({ email, name }: Pick<Member, "email" | "name">): readonly string[] {
  const lower = (text: string) => text.normalize("NFKC").toLowerCase();
  const [address, whole] = [lower(email), lower(name)];
  // The last label of a domain is no one's own.
  const parts = [...address.replace(/\.[^.@]*$/, "").split(/[@.+_-]/), ...whole.split(/[\s.'-]+/)];
  const words = new Set([address, address.split("@")[0]!, whole, ...parts]);
  return [...words].filter((word) => word.length >= ownWordCharacters).sort((one, other) => other.length - one.length);
}

/**
 * Hashes a password for storage: a PHC string with its cost and salt. Throws `unavailable` if too many hashers wait,
 * and `rate_limited` if the same hasher has too many; without one the call counts for no hasher.
 */
export async function hashPassword(
  password: Secret,
  hasher: Hasher = { kind: "member", name: randomUUID() },
): Promise<string> {
  const salt = randomBytes(saltBytes);
  const tag = await queue.run(hasher, () => derive(password, salt, cost));
  const { memory, passes, parallelism } = cost;
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${encode(salt)}$${encode(tag)}`;
}

/**
 * Reports whether it is the password. Takes as long without a stored hash, so that the time does not reveal who is a
 * member. Throws as `hashPassword` if too many wait.
 */
export async function verifyPassword(password: Secret, kept: string | undefined, hasher: Hasher): Promise<boolean> {
  const { salt, tag, ...parameters } = parse(kept ?? nobodysHash);
  const isRight = equalInConstantTime(await queue.run(hasher, () => derive(password, salt, parameters)), tag);
  return isRight && kept !== undefined;
}

// Matches no password: its tag is not argon2's.
const nobodysHash = `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=${cost.parallelism}$${encode(Buffer.alloc(saltBytes))}$${encode(Buffer.alloc(tagBytes))}`;

type Cost = Pick<Argon2Parameters, "memory" | "passes" | "parallelism">;

function derive(password: Secret, nonce: Buffer, { memory, passes, parallelism }: Cost): Promise<Buffer> {
  // Different Unicode compositions of the same text are the same password.
  const message = password.expose().normalize("NFKC");
  return hash("argon2id", { message, nonce, memory, passes, parallelism, tagLength: tagBytes });
}

function parse(kept: string): Cost & { readonly salt: Buffer; readonly tag: Buffer } {
  const parts = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)$/.exec(kept);
  if (parts === null) throw new Error("a kept password is no PHC string of argon2id");
  const [memory, passes, parallelism] = parts.slice(1, 4).map(Number) as [number, number, number];
  return { memory, passes, parallelism, salt: decode(parts[4]!), tag: decode(parts[5]!) };
}

function encode(bytes: Buffer): string {
  return bytes.toString("base64").replace(/=+$/, "");
}

function decode(text: string): Buffer {
  return Buffer.from(text, "base64");
}
