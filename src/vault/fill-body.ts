/** Fills a card into a gateway request, and refuses placeholders in every field but those of the destination. Pure. */
import { DomainError, unreachable } from "../platform/errors.ts";
import type { Card } from "./card.ts";
import { emvNameOf } from "./cardholder-name.ts";
import type { Destination } from "./destinations.ts";

export type FillBody = (card: Card) => string;

type Fields = Destination["fields"];

/** A value that the vault must fill, or the original text. */
type Slot = { readonly template: string };

// A gateway request nests four deep; this stops a body made to exhaust the stack.
const jsonDepthMax = 32;

// Adyen's names of the brands that a customer may choose: https://github.com/Adyen/adyen-dotnet-api-library,
// Adyen/Constants/BrandCodes.cs (2026).
const adyenBrands: Readonly<Record<string, string>> = {
  cartes_bancaires: "cartebancaire",
  dankort: "dankort",
  mastercard: "mc",
  visa: "visa",
};

const parts: Readonly<Record<string, (card: Card) => string | undefined>> = {
  "card.number": (card) => card.number,
  "card.expMonth": (card) => String(card.expMonth).padStart(2, "0"),
  "card.expYear": (card) => String(card.expYear),
  "card.expYear2": (card) => String(card.expYear % 100).padStart(2, "0"),
  "card.cvc": (card) => card.cvc,
  // PayPal takes one line.
  "card.holder": (card) => card.holder?.replaceAll(/[\u2028\u2029]/g, " "),
  "card.emvHolder": (card) => emvNameOf(card.holder),
  "card.postalCode": (card) => card.postalCode,
  "card.adyenBrand": ({ brand }) => (brand === undefined ? undefined : adyenBrands[brand]),
  // Placeholders of a device's number.
  "token.number": (card) => card.number,
  "token.expMonth": (card) => String(card.expMonth).padStart(2, "0"),
  "token.expYear": (card) => String(card.expYear),
  "token.cryptogram": ({ wallet }) => wallet?.cryptogram,
  "token.eci": ({ wallet }) => wallet?.eci,
  "token.messageId": ({ wallet }) => wallet?.messageId,
  "token.messageExpiration": ({ wallet }) => wallet?.messageExpiration,
};

/**
 * Checks a body against its destination. The body sent is written anew from the checked one, so a second reading of the
 * same bytes cannot differ. Throws `invalid_field` for a placeholder in any other field, or an unreadable body.
 */
export function planFill(destination: Pick<Destination, "contentType" | "fields">, body: Uint8Array): FillBody {
  const text = decode(body);
  switch (destination.contentType) {
    case "application/x-www-form-urlencoded":
      return planForm(text, destination.fields);
    case "application/json":
      return planJson(text, destination.fields);
    default:
      return unreachable(destination.contentType);
  }
}

/** Reports whether text contains anything that looks like a placeholder, well-formed or not. */
export function holdsPlaceholder(text: string): boolean {
  return text.includes("{{");
}

function planForm(text: string, fields: Fields): FillBody {
  const pairs =
    text === ""
      ? []
      : text.split("&").map((pair) => {
          const equals = pair.includes("=") ? pair.indexOf("=") : pair.length;
          const name = decodeFormPart(pair.slice(0, equals));
          return [name, slotOrText(fields, name, name, decodeFormPart(pair.slice(equals + 1)))] as const;
        });
  return (card) =>
    pairs
      .map(([name, value]) => [name, typeof value === "string" ? value : render(value, card)] as const)
      .filter((pair): pair is readonly [string, string] => pair[1] !== undefined)
      .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
      .join("&");
}

function planJson(text: string, fields: Fields): FillBody {
  const fillRoot = planValue(parseJson(text), "", fields);
  return (card) => JSON.stringify(fillRoot(card));
}

/**
 * Walks a JSON value once; the function that it returns writes the value for a card, `undefined` for a field to omit.
 */
function planValue(value: unknown, pointer: string, fields: Fields): (card: Card) => unknown {
  if (pointer.split("/").length > jsonDepthMax) throw refusal("The body nests too deep.");
  if (typeof value === "string") {
    const planned = slotOrText(fields, pointer, "", value);
    return typeof planned === "string" ? () => planned : (card) => render(planned, card);
  }
  if (typeof value !== "object" || value === null) return () => value;
  if (Array.isArray(value)) {
    const items = value.map((item, index) => planValue(item, `${pointer}/${index}`, fields));
    return (card) => items.map((item) => item(card));
  }
  const members = Object.entries(value).map(([name, member]) => {
    if (holdsPlaceholder(name)) throw misplaced();
    return [name, planValue(member, `${pointer}/${escapePointer(name)}`, fields)] as const;
  });
  return (card) => Object.fromEntries(members.map(([name, member]) => [name, member(card)]));
}

/** Returns a slot if the destination fills exactly this text in this field; plain text if there is no placeholder. */
function slotOrText(fields: Fields, place: string, name: string, value: string): Slot | string {
  if (holdsPlaceholder(name)) throw misplaced();
  if (!holdsPlaceholder(value)) return value;
  if (!Object.hasOwn(fields, place) || fields[place] !== value) throw misplaced();
  return { template: value };
}

function render({ template }: Slot, card: Card): string | undefined {
  let missing = false;
  const filled = template.replace(/\{\{([\w.]+)\}\}/g, (_, name: string) => {
    const part = parts[name];
    if (part === undefined) throw new Error(`the destination table names an unknown placeholder: ${name}`);
    const value = part(card);
    missing ||= value === undefined;
    return value ?? "";
  });
  return missing ? undefined : filled;
}

function decode(body: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch (cause) {
    throw refusal("The body is not UTF-8.", cause);
  }
}

function decodeFormPart(part: string): string {
  try {
    return decodeURIComponent(part.replaceAll("+", " "));
  } catch (cause) {
    throw refusal("The body is not form-encoded.", cause);
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw refusal("The body is not JSON.");
  }
}

function escapePointer(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

function misplaced(): DomainError {
  return refusal("A placeholder is in a field that this destination does not fill.");
}

function refusal(message: string, cause?: unknown): DomainError {
  return new DomainError("invalid_field", message, { field: "body", cause });
}
