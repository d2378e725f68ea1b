/** What an operator has to put right before a database and a program fit together. */

/** A database that could not be brought, or is not, to the schema that this program needs; the message says what to do. */
export class SchemaError extends Error {
  override readonly name = "SchemaError";
}
