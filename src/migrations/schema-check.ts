/** Whether databases have the schema that this program was written for. A newer one is fine: so old and new run beside each other. */
import type { Queryable } from "../platform/database.ts";
import type { Logger } from "../platform/log.ts";
import { SchemaError } from "./schema-error.ts";
import { type DatabaseKind, schemaHistory } from "./schema-history.ts";

/** A database as a person knows it. */
export type CheckedDatabase = { readonly name: string; readonly kind: DatabaseKind; readonly database: Queryable };

const selectApplied = { name: "schema_applied", text: "SELECT name FROM applied_migration" };
// "undefined_table": what `migrate` makes is not there (https://www.postgresql.org/docs/current/errcodes-appendix.html).
const undefinedTable = "42P01";

/** Asks each database until it has answered once. */
export class SchemaCheck {
  #open: readonly CheckedDatabase[];

  constructor(databases: readonly CheckedDatabase[]) {
    this.#open = databases;
  }

  /** At the start. Throws SchemaError when a database is older than this program; one that does not answer is asked later. */
  async begin(log: Pick<Logger, "warn">): Promise<void> {
    await this.pass().catch((error: unknown) => {
      if (error instanceof SchemaError) throw error;
      log.warn({ err: error }, "a database did not answer at the start, and is asked again");
    });
  }

  /** Resolves when no database is older than this program. Throws SchemaError, or what kept a database from answering. */
  async pass(): Promise<void> {
    for (const one of this.#open) {
      const missing = await missingIn(one);
      if (missing.length > 0) throw new SchemaError(wording(one, missing));
      this.#open = this.#open.filter((other) => other !== one);
    }
  }
}

async function missingIn({ kind, database }: CheckedDatabase): Promise<string[]> {
  const applied = await database.query<{ name: string }>(selectApplied, []).catch((error: { code?: unknown }) => {
    if (error.code === undefinedTable) return [];
    throw error;
  });
  const names = new Set(applied.map(({ name }) => name));
  return schemaHistory[kind].map(({ name }) => name).filter((name) => !names.has(name));
}

function wording({ name, kind }: CheckedDatabase, missing: readonly string[]): string {
  const lacks = missing.length === schemaHistory[kind].length ? "was not migrated yet" : `lacks ${missing.join(", ")}`;
  return (
    `The database of ${name} ${lacks}. Before this version starts, run: ` +
    `switchyard migrate --kind ${kind} --url <its address, as its owner> --runtime-role <the role of its address in the settings>`
  );
}
