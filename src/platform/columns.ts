/** SQL select lists made from entity definitions, so that a table's columns are named once. */

/** What `defineEntity` of the ORM returns, as far as column names go. */
type EntityDefinition = { readonly properties: object };

/** `s.amount_minor AS "amountMinor", …` for every property, or for some, under the table's alias. */
export function columnsOf(
  entity: EntityDefinition,
  alias: string,
  properties: readonly string[] = Object.keys(entity.properties),
): string {
  return properties.map((property) => `${alias}.${columnName(property)} AS "${property}"`).join(", ");
}

/** The column of a property: the ORM's underscore naming strategy, `amountMinor` → `amount_minor`. */
export function columnName(property: string): string {
  return property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
