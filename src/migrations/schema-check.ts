/**
 * Checks whether databases have the schema that this program needs. A newer schema is accepted, so that an old and a new
 * version can run at the same time.
 */
import type { Queryable } from "../platform/database.ts";
import type { Logger } from "../platform/log.ts";
import { beforeBaselineError, isBeforeBaseline, SchemaError } from "./schema-error.ts";
import { type DatabaseKind, schemaHistory } from "./schema-history.ts";

export type CheckedDatabase = {
  readonly name: string;
  readonly kind: DatabaseKind;
  readonly database: Queryable;
  /** The word of a group of databases, here the cells of an environment, of which one has to answer. */
  readonly oneOf?: string;
};

type MigrationNames = Readonly<Record<DatabaseKind, readonly { readonly name: string }[]>>;

const selectApplied = { name: "schema_applied", text: "SELECT name FROM applied_migration" };
// "undefined_table": `migrate` has not run yet (https://www.postgresql.org/docs/current/errcodes-appendix.html).
const undefinedTable = "42P01";

/** Checks each database until it has answered once. */
export class SchemaCheck {
  #open: readonly CheckedDatabase[];
  readonly #answered = new Set<string>();
  readonly #tooOld = new Map<CheckedDatabase, SchemaError>();
  readonly #history: MigrationNames;

  /** `history`: other migrations than the product's own, for tests. */
  constructor(databases: readonly CheckedDatabase[], history: MigrationNames = schemaHistory) {
    this.#open = databases;
    this.#history = history;
  }

  /** Checks at the start. Throws SchemaError when a database is too old; one that does not answer is checked later. */
  async begin(log: Pick<Logger, "warn">): Promise<void> {
    await this.pass().catch((error: unknown) => {
      if (error instanceof SchemaError) throw error;
      log.warn({ err: error }, "a database did not answer at the start and will be checked again");
    });
  }

  /** Resolves when no database is too old. Throws SchemaError, or the error that kept a database from answering. */
  async pass(): Promise<void> {
    const groups = Map.groupBy(this.#open, ({ name, oneOf = name }) => oneOf);
    await Promise.all([...groups].map(([word, group]) => this.#checkGroup(word, group)));
    for (const error of this.#tooOld.values()) throw error;
  }

  /** Checks all of a group at once. Waits for the first answer; once there was one, for none. */
  async #checkGroup(word: string, group: readonly CheckedDatabase[]): Promise<void> {
    const first = Promise.any(group.map((one) => this.#check(one)));
    if (this.#answered.has(word)) return void first.catch(() => {});
    await first.catch((error: AggregateError) => Promise.reject(error.errors[0]));
    this.#answered.add(word);
  }

  async #check(one: CheckedDatabase): Promise<void> {
    try {
      const missing = await this.#missingIn(one);
      if (missing.length > 0)
        throw new SchemaError(wording(one, { missing, isEmpty: missing.length === this.#history[one.kind].length }));
      this.#open = this.#open.filter((other) => other !== one);
      this.#tooOld.delete(one);
    } catch (error) {
      if (!(error instanceof SchemaError)) throw error;
      this.#tooOld.set(one, error);
    }
  }

  async #missingIn({ name: checked, kind, database }: CheckedDatabase): Promise<string[]> {
    const applied = await database.query<{ name: string }>(selectApplied, []).catch((error: { code?: unknown }) => {
      if (error.code === undefinedTable) return [];
      throw error;
    });
    const names = new Set(applied.map(({ name }) => name));
    if (isBeforeBaseline([...names])) throw beforeBaselineError(`The database of ${checked}`);
    return this.#history[kind].map(({ name }) => name).filter((name) => !names.has(name));
  }
}

function wording(
  { name, kind }: CheckedDatabase,
  { missing, isEmpty }: { readonly missing: readonly string[]; readonly isEmpty: boolean },
): string {
  const lacks = isEmpty ? "has not been migrated yet" : `lacks ${missing.join(", ")}`;
  return (
    `The database of ${name} ${lacks}. Before this version starts, run: ` +
    `switchyard migrate --kind ${kind} --url <its address, as its owner> --runtime-role <the role of its address in the settings>`
  );
}
