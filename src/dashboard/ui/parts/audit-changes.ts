/** The changed fields of an entry of the audit trail. Pure. */

/** A field before and after; undefined where it was not there. */
export type FieldChange = {
  readonly name: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
};

type Facts = Readonly<Record<string, unknown>>;

/** Lists the fields that differ, in the order in which they stand: of a new or removed object every field. */
export function changesOf(before: Facts | undefined, after: Facts | undefined): FieldChange[] {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  return names
    .map((name) => ({ name: inWords(name), before: textOf(name, before?.[name]), after: textOf(name, after?.[name]) }))
    .filter((field) => field.before !== field.after);
}

/** Returns `Checkout origins` for `checkoutOrigins`, without the unit of a time, which its value has. */
function inWords(name: string): string {
  const words = name
    .replace(/Ms$/, "")
    .replace(/(?<=[a-z0-9])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
    .replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function textOf(name: string, value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (name.endsWith("Ms") && typeof value === "number") return `${(value / 1_000).toLocaleString()} s`;
  if (typeof value === "string") return value;
  if (Array.isArray(value) && value.every((each) => typeof each === "string")) return value.join(", ") || "none";
  return JSON.stringify(value);
}
