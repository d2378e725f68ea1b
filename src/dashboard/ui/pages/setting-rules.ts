/** The text form of settings and its validation. PURE. */
import { readAmount } from "../parts/minor-units.ts";

export function linesOf(text: string): string[] {
  return text
    .split(/\s+/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** Returns the error of a list of origins, naming the first invalid line. */
export function findOriginProblem(text: string): string | undefined {
  const lines = linesOf(text);
  const wrong = lines.find((line) => !isOrigin(line));
  if (wrong !== undefined) {
    return `${wrong} is not an origin: enter a scheme, host and, unless it is the default, port, such as https://shop.example.com.`;
  }
  return repeatedIn(lines);
}

function isOrigin(text: string): boolean {
  return /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

const minutes = { min: 5, max: 1_440 };

export function findLifetimeProblem(text: string): string | undefined {
  const number = Number(text);
  const isRight = /^\d+$/.test(text.trim()) && number >= minutes.min && number <= minutes.max;
  return isRight ? undefined : `Enter a whole number of minutes from ${minutes.min} to ${minutes.max}.`;
}

/** Returns the error of a text for card statements; an empty one is none. */
export function findDescriptorProblem(text: string): string | undefined {
  const written = text.trim();
  if (written === "") return undefined;
  if (!/^[A-Za-z0-9.-]+( [A-Za-z0-9.-]+)*$/.test(written))
    return "Use letters, digits, dots, hyphens and single spaces between them.";
  if (!/[A-Za-z]/.test(written)) return "Use at least one letter.";
  return written.length >= 5 && written.length <= 22 ? undefined : "Enter 5 to 22 characters.";
}

const addressesMax = 10;

/** Returns the error of a list of mail addresses, naming the first invalid line. */
export function findAddressProblem(text: string): string | undefined {
  const lines = linesOf(text);
  const wrong = lines.find((line) => !/^[^\s@]+@[^\s@]+$/.test(line));
  if (wrong !== undefined) return `${wrong} is not an e-mail address.`;
  return lines.length > addressesMax ? `Enter at most ${addressesMax} addresses.` : repeatedIn(lines);
}

function repeatedIn(lines: readonly string[]): string | undefined {
  const repeated = lines.find((line, index) => lines.indexOf(line) < index);
  return repeated === undefined ? undefined : `${repeated} is listed twice.`;
}

type Currencies = readonly { readonly code: string; readonly exponent: number }[];

const limitRows = (text: string) => text.split("\n").filter((line) => line.trim() !== "");

/** A limit of a line, or a sentence that says why the line is none. */
type Limit =
  | { readonly type: "limit"; readonly currency: string; readonly amountMinor: bigint }
  | { readonly type: "problem"; readonly problem: string };

function readLimit(line: string, currencies: Currencies): Limit {
  const [, code = "", text = ""] = /^\s*([A-Za-z]{3})\s+(\S.*)$/.exec(line) ?? [];
  const known = currencies.find((each) => each.code === code.toUpperCase());
  const problem = `${line.trim()} is not a limit: enter a currency and an amount with its decimals, such as EUR 500.00.`;
  if (known === undefined) return { type: "problem", problem };
  const read = readAmount(text, { currency: known.code, exponent: known.exponent });
  if (read.type === "problem") return { type: "problem", problem: `${line.trim()} is not a limit. ${read.problem}` };
  return { type: "limit", currency: known.code, amountMinor: read.amountMinor };
}

/** Returns the limits of a text with one currency and amount per line; undefined if a line is invalid. */
export function readLimits(text: string, currencies: Currencies) {
  const limits = limitRows(text).map((line) => readLimit(line, currencies));
  return limits.every((limit) => limit.type === "limit")
    ? limits.map(({ currency, amountMinor }) => ({ currency, amountMinor }))
    : undefined;
}

export function findLimitProblem(text: string, currencies: Currencies): string | undefined {
  const limits = limitRows(text).map((line) => readLimit(line, currencies));
  const wrong = limits.find((limit) => limit.type === "problem");
  return wrong?.problem ?? repeatedIn(limits.flatMap((limit) => (limit.type === "limit" ? [limit.currency] : [])));
}
