/** The changed fields of an entry of the audit trail, in words. PURE. */
import { nameGatewaysIn } from "./gateway-name.ts";

/** A field before and after; undefined if it was not there. */
export type FieldChange = {
  readonly name: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
};

type Facts = Readonly<Record<string, unknown>>;

/** Formats an amount of minor units in a currency; undefined if the currency is unknown. */
export type FormatMinor = (amountMinor: number, currency: string) => string | undefined;

/** Lists the fields that differ, in the order in which they stand: of a new or removed object every field. */
export function changesOf(
  before: Facts | undefined,
  after: Facts | undefined,
  format: FormatMinor = () => undefined,
): FieldChange[] {
  const [old, now] = [fieldsOf(before, format), fieldsOf(after, format)];
  const names = [...new Set([...old.keys(), ...now.keys()])];
  return names
    .map((name) => ({ name, before: old.get(name), after: now.get(name) }))
    .filter((field) => field.before !== field.after);
}

/** Returns the values in words by the names in words. Each field of a nested object becomes a field. */
function fieldsOf(facts: Facts | undefined, format: FormatMinor, prefix = ""): Map<string, string> {
  const { currency } = facts ?? {};
  const amount = Number(facts?.amountMinor);
  const formatted = typeof currency === "string" && facts?.amountMinor !== undefined && format(amount, currency);
  return new Map(
    Object.entries(facts ?? {}).flatMap(([key, value]): (readonly [string, string])[] => {
      const name =
        prefix === "" ? capitalized(wordsOf(key)) : `${prefix} ${key === key.toUpperCase() ? key : wordsOf(key)}`;
      if (formatted && key === "currency") return [];
      if (formatted && key === "amountMinor") return [[name, formatted]];
      if (value === undefined || value === null || value === "") return [];
      if (typeof value === "object" && !Array.isArray(value)) return [...fieldsOf(value as Facts, format, name)];
      const limit = typeof value === "number" && isCurrency(key) ? format(value, key) : undefined;
      return [[name, limit ?? textOf(key, value, format)]];
    }),
  );
}

const isCurrency = (key: string) => /^[A-Z]{3}$/.test(key);

// Names that a person would not take for what they name.
const named: Readonly<Record<string, string>> = {
  amountMinor: "amount",
  cardLast4: "last four digits of the card",
  hasTotp: "authenticator app",
  last4: "last four characters",
  orderRef: "order reference",
  refundRef: "refund reference",
  restoredFrom: "restored from version",
  sessionId: "payment",
  session: "payment",
  taken: "accepted",
  takesTwo: "needs two people",
  topics: "muted alerts",
  url: "address",
  DEVELOPER: "limits of developers",
  OWNER: "limits of owners",
};

/** Returns `checkout origins` for `checkoutOrigins`, without the unit of a time, which its value has. */
function wordsOf(name: string): string {
  return (
    named[name] ??
    name
      .replace(/Ms$/, "")
      .replace(/(?<=[a-z0-9])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
      .replaceAll("_", " ")
  );
}

const seconds = (count: number) => `${count.toLocaleString()} s`;

function textOf(key: string, value: unknown, format: FormatMinor): string {
  if (key.endsWith("Ms") && typeof value === "number") {
    const whole = value / 60_000;
    return Number.isInteger(whole) ? `${whole.toLocaleString()} min` : seconds(value / 1_000);
  }
  if (typeof value === "boolean") return value ? "Yes" : "No";
  if (Array.isArray(value)) {
    // An endpoint without event types receives every event.
    return value.map((each) => textOf("", each, format)).join(", ") || (key === "eventTypes" ? "every event" : "none");
  }
  // The code of a reason, such as requested_by_customer.
  if (key === "reason" && /^[a-z]+(_[a-z]+)+$/.test(String(value))) return capitalized(wordsOf(String(value)));
  if (typeof value === "object" && value !== null)
    return [...fieldsOf(value as Facts, format)].map(([name, text]) => `${name} ${text}`).join(", ");
  return plainWords(String(value));
}

/** Returns `Hard decline` for `HARD_DECLINE`, and the name of a gateway for its identifier; other texts as they are. */
function plainWords(text: string): string {
  const withNames = nameGatewaysIn(text);
  // Two or three letters are the code of a country or a currency.
  if (withNames !== text || !/^[A-Z]{4,}$|^[A-Z]+(_[A-Z0-9]+)+$/.test(text)) return withNames;
  return capitalized(text.toLowerCase().replaceAll("_", " "));
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
