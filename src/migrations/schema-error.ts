/** Errors about a database whose schema does not match the program. */

/** A database does not have the schema that this program needs; the message says what to do. */
export class SchemaError extends Error {
  override readonly name = "SchemaError";
}

/** The name of every database's first migration. */
export const baselineName = "001-baseline";

/** The problem and the remedy for a database made by migrations that this program no longer has. */
export const beforeBaseline = {
  says: "was made before version 0.1.0 and cannot be migrated",
  remedy:
    "create an empty database and run `switchyard migrate` on it, or for the demo remove its folder (`.switchyard`) and run `npm start`",
} as const;

export function beforeBaselineError(database: string): SchemaError {
  return new SchemaError(`${database} ${beforeBaseline.says}: ${beforeBaseline.remedy}.`);
}

/** Reports whether migrations were applied to a database, but not the baseline. */
export function isBeforeBaseline(applied: readonly string[]): boolean {
  return applied.length > 0 && !applied.includes(baselineName);
}

// The tests run on this one. The schema uses functions that 15 does not have.
const postgresMajorMin = 18;

/** Throws SchemaError unless the server is of a supported version, given as its `server_version_num`. */
export function requireServerVersion(versionNumber: number): void {
  const major = Math.floor(versionNumber / 10_000);
  if (major >= postgresMajorMin) return;
  throw new SchemaError(
    `Switchyard needs PostgreSQL ${postgresMajorMin} or newer; this server is PostgreSQL ${major}.`,
  );
}
