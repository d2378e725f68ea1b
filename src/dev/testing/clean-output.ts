/** Searches the output of service processes for data that must never be in it: cards, secrets, customers' addresses. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { authenticationCards } from "../../gateways/sandbox/authentication-cards.ts";
import { providerCards } from "../../gateways/sandbox/provider-cards.ts";
import { testCards } from "../../gateways/sandbox/test-cards.ts";
import { adyenTestNumbers } from "../../sandbox/adyen/emulator-cards.ts";
import { paypalSecureNumbers, paypalTestNumbers } from "../../sandbox/paypal/emulator-cards.ts";
import { stripeTestNumbers } from "../../sandbox/stripe/emulator-cards.ts";
import { findTraces, tracesOfNumber } from "../e2e/canary-search.ts";

export type ProcessOutput = { readonly where: string; readonly text: string };

// Every number that any test pays with or sends to be refused.
const numbers = new Set([
  ...[...testCards, ...authenticationCards, ...providerCards].map(({ number }) => number),
  ...[...stripeTestNumbers, ...adyenTestNumbers, ...paypalTestNumbers, ...paypalSecureNumbers],
  ...["4111111111111111", "378282246310005", "378282246310006"],
]);

/** The forms of such data, for any owner. Written apart from the scrubber's rules, whose mistakes they are to find. */
const forms: readonly (readonly [what: string, pattern: RegExp])[] = [
  ["a security code", /(?:\bcvc|\bcvv|\bcsc|\bcvn|security.?code)2?(?:%[0-9a-f]{2}|[^0-9a-z]){1,8}\d{3,4}(?!\d)/i],
  ["a secret key", /_(?:test|live)_[sr]k_[0-9A-Za-z]{8}/],
  ["a gateway's key", /\b[sr]k_(?:test|live)_[0-9A-Za-z]{8}/],
  ["a signing secret", /whsec_[A-Za-z0-9+/]{8}/],
  ["a client secret", /_secret_[tl]\d+_[\w-]{8}/],
  ["a vault token", /\b(?:tok|wpn|wnt)_[\w-]{20}/],
  ["the handle of a stored card", /\bvc_[\w-]{20}/],
  ["a signed token", /\beyJ[\w-]{10,}\.[\w-]{10}/],
  ["an authorization", /\b(?:bearer|basic) +[\w.~+/-]{4,}[0-9][\w.~+/-]{4}/i],
  ["an address with a password", /:\/\/[^\s"'/@:*]{0,64}:[^\s"'@*]{1,128}@/],
  ["an e-mail address", /[\w.+-]{1,64}@[\w.-]{1,200}\.(?:example|com|net|org|test|invalid)\b/],
  ["a field that no line may carry", /"dropped":\[/],
];

/** Returns a sentence for each kind of forbidden data in the output: it names file and kind of line, and no value. */
export function findLeaks({ where, text }: ProcessOutput, secrets: readonly string[] = []): string[] {
  const findings: [string, (part: string) => boolean][] = [
    ["a card number", (part) => [...numbers].some((number) => findTraces(part, tracesOf(number)).length > 0)],
    ["a secret of this installation", (part) => secrets.some((secret) => part.includes(secret))],
    ...forms.map(([what, pattern]): [string, (part: string) => boolean] => [what, (part) => pattern.test(part)]),
  ];
  return findings
    .filter(([, isIn]) => isIn(text))
    .map(([what, isIn]) => `${where}: ${what} in ${kindOf(text.split("\n").find(isIn) ?? "")}`);
}

/** Throws if a process has written forbidden data. */
export function requireCleanOutput(outputs: readonly ProcessOutput[], secrets: readonly string[] = []): void {
  const leaks = outputs.flatMap((output) => findLeaks(output, secrets));
  if (leaks.length > 0) throw new Error(`a process wrote forbidden data:\n${leaks.join("\n")}`);
}

/**
 * Reads the logs of the roles that were started in a folder. Logs of other servers, which print the statements of
 * tests, are excluded.
 */
export function readRoleLogs(folder: string): ProcessOutput[] {
  const isRole = (name: string) => /^(?:edge|worker|dashboard|vault|sandbox)[\w.-]*\.log$/.test(name);
  return namesIn(folder)
    .filter(isRole)
    .map((name) => ({ where: name, text: readFileSync(join(folder, name), "latin1") }));
}

/** Returns every random value in the files of keys, passwords and credentials of a folder. */
export function secretsUnder(folder: string): string[] {
  const texts = namesIn(folder).filter((name) => name.endsWith(".json"));
  return texts.flatMap((name) => secretsIn(JSON.parse(readFileSync(join(folder, name), "utf8"))));
}

/** Empty if a start did not reach the creation of the folder. */
function namesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}

/** Returns every random value among keys, passwords or credentials. */
export function secretsIn(value: unknown): string[] {
  if (typeof value === "string") return isRandom(value) ? [value] : [];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(secretsIn) : [];
}

// Public keys and ids are random, too, and may be shown.
function isRandom(value: string): boolean {
  const isPublic = /_pk_|^[a-z]{2,4}_[0-9a-z]{26}$|^[0-9a-f-]{36}$/.test(value);
  return /^[\w+/=-]{16,}$/.test(value) && /\d/.test(value) && /[A-Za-z]/.test(value) && !isPublic;
}

const tracesByNumber = new Map<string, ReturnType<typeof tracesOfNumber>>();

function tracesOf(number: string) {
  const known = tracesByNumber.get(number) ?? tracesOfNumber(number);
  tracesByNumber.set(number, known);
  return known;
}

/** Identifies a log line by its fixed sentence. */
function kindOf(line: string): string {
  try {
    return `the line "${JSON.parse(line).msg}"`;
  } catch {
    return "text that is no log line";
  }
}
