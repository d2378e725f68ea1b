/**
 * Reads the bodies of POST /tokens and POST /security-codes: strict JSON of vault.v1.CreateTokenRequest and
 * AddSecurityCodeRequest. Reports all problems together. Pure.
 */
import type { WalletName } from "../platform/card-token.ts";
import { DomainError, type DomainErrorCode, type FieldProblem } from "../platform/errors.ts";
import type { Card } from "./card.ts";

type Kind = "string" | "integer";

type Fields<Name extends string> = Readonly<Record<Name, { kind: Kind; required: boolean }>>;

/** The fields of CreateTokenRequest by their JSON names. */
const cardFields: Fields<Exclude<keyof Card, "wallet">> = {
  number: { kind: "string", required: true },
  expMonth: { kind: "integer", required: true },
  expYear: { kind: "integer", required: true },
  cvc: { kind: "string", required: true },
  holder: { kind: "string", required: false },
  postalCode: { kind: "string", required: false },
  brand: { kind: "string", required: false },
};

/** A security code for the token of a stored card. */
export type SecurityCode = { readonly token: string; readonly cvc: string };

const codeFields: Fields<keyof SecurityCode> = {
  token: { kind: "string", required: true },
  cvc: { kind: "string", required: true },
};

/** A wallet's payment token, as text. */
export type WalletText = { readonly wallet: WalletName; readonly token: string };

const walletFields: Fields<keyof WalletText> = {
  wallet: { kind: "string", required: true },
  token: { kind: "string", required: true },
};

const knownFields = { ...cardFields, ...codeFields, ...walletFields };

/** Every string of a valid JSON text, with its colon when it is a key. Inside valid JSON this cannot misread. */
const stringToken = /"((?:[^"\\]|\\.)*)"(\s*:)?/g;

/**
 * Returns the card in a JSON body. The types of its values are checked, their plausibility is not: findCardProblems
 * does that. Throws `invalid_json`, or a DomainError with a problem per field.
 */
export function parseCardJson(bytes: Uint8Array): Card {
  return parseFields(bytes, cardFields) as Card;
}

/** Returns the security code in a JSON body, as `parseCardJson` does the card. */
export function parseCodeJson(bytes: Uint8Array): SecurityCode {
  return parseFields(bytes, codeFields) as SecurityCode;
}

/** Returns the text of a wallet in a JSON body, as `parseCardJson` does the card. */
export function parseWalletJson(bytes: Uint8Array): WalletText {
  const text = parseFields(bytes, walletFields) as WalletText;
  if (text.wallet !== "apple_pay" && text.wallet !== "google_pay") {
    refuseWhenAny([problem("wallet", "invalid_field", "The wallet is apple_pay or google_pay.")]);
  }
  return text;
}

function parseFields(bytes: Uint8Array, fields: Fields<string>): Record<string, unknown> {
  const { text, body } = parseObject(bytes);
  const problems: FieldProblem[] = [];
  for (const name of repeatedKeys(text)) problems.push(problem(name, "duplicate_field", "The field occurs twice."));
  for (const name of Object.keys(body)) {
    if (!Object.hasOwn(fields, name)) problems.push(problem(name, "unknown_field", "There is no such field."));
  }
  for (const [name, { kind, required }] of Object.entries(fields)) {
    const value = body[name];
    if (value === undefined && required) problems.push(problem(name, "missing_field", "The field is missing."));
    if (value !== undefined && !isOfKind(value, kind)) {
      problems.push(problem(name, "invalid_field", `The field takes ${kind === "integer" ? "an integer" : "text"}.`));
    }
  }
  refuseWhenAny(problems);
  return body;
}

/** Throws the refusal that names all `problems`; returns if there are none. */
export function refuseWhenAny(problems: readonly FieldProblem[]): void {
  const [first] = problems;
  if (first !== undefined) throw new DomainError(first.code, first.detail, { field: first.param, problems });
}

/** Returns a problem with one field of the body. An unknown name came from the caller and is not repeated. */
export function problem(name: string, code: DomainErrorCode, detail: string): FieldProblem {
  return Object.hasOwn(knownFields, name)
    ? { param: name, pointer: `/${name}`, code, detail }
    : { param: "", pointer: "", code, detail };
}

function parseObject(bytes: Uint8Array): { text: string; body: Record<string, unknown> } {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    const body: unknown = JSON.parse(text);
    if (typeof body === "object" && body !== null && !Array.isArray(body)) {
      return { text, body: body as Record<string, unknown> };
    }
  } catch {
    // The parser's own message quotes the body, which contains a card, so it is dropped here.
  }
  throw new DomainError("invalid_json", "The body is not a JSON object in UTF-8.");
}

/** Returns the keys that occur twice at the top level: JSON.parse would silently keep the last. */
function repeatedKeys(text: string): string[] {
  const seen = new Set<string>();
  const repeated = new Set<string>();
  for (const [, key, colon] of text.matchAll(stringToken)) {
    if (colon === undefined) continue;
    const name = JSON.parse(`"${key}"`) as string;
    if (seen.has(name)) repeated.add(name);
    seen.add(name);
  }
  return [...repeated];
}

function isOfKind(value: unknown, kind: Kind): boolean {
  return kind === "integer" ? Number.isSafeInteger(value) : typeof value === "string";
}
