/** Builds SQL select lists from entity definitions, so that a table's columns are named once. */

/** The part of the result of the ORM's `defineEntity` that concerns column names. */
type EntityDefinition = { readonly properties: object };

/** Returns `s.amount_minor AS "amountMinor", …` for every property, or for some, under the table's alias. */
export function columnsOf(
  entity: EntityDefinition,
  alias: string,
  properties: readonly string[] = Object.keys(entity.properties),
): string {
  return properties.map((property) => `${alias}.${columnName(property)} AS "${property}"`).join(", ");
}

/** Returns the column of a property by the ORM's underscore naming strategy, `amountMinor` → `amount_minor`. */
export function columnName(property: string): string {
  return property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/**
 * Returns properties and their values as the JSON of their columns. Half a surrogate pair in a gateway's text becomes
 * U+FFFD: PostgreSQL's jsonb refuses it.
 */
export function changesOf(properties: object): string {
  const storable = (value: unknown) => (typeof value === "string" ? value.toWellFormed() : value);
  return JSON.stringify(
    Object.fromEntries(Object.entries(properties).map(([property, value]) => [columnName(property), storable(value)])),
  );
}
