/** Removes the guards of rules from a migrated database by their names, so that the simulation can detect the damage. */
import { Client, escapeIdentifier, escapeLiteral } from "pg";
import { unreachable } from "../../platform/errors.ts";

/** A guard, constraint, index or lock that enforces a rule in PostgreSQL, by its name. */
export type SchemaRemoval =
  /** A condition of a guard: the reason that it refuses with, or the beginning of it. */
  | { readonly type: "refusal"; readonly reason: string }
  /** A check, a foreign key or a primary key; `instead` is the part of a check that stays. */
  | { readonly type: "constraint"; readonly name: string; readonly instead?: string }
  | { readonly type: "uniqueIndex"; readonly name: string }
  /** A text of a function of payments, in each of its copies. `app.NAME` is the one over the whole tables. */
  | { readonly type: "text"; readonly of: string; readonly text: string; readonly instead: string }
  /** The lock that a guard of the set `rest` takes on the session, and the copies of the guard with it. */
  | { readonly type: "lock"; readonly guard: string };

/** Throws if the database has no object of a given name: the rule is then enforced in another way. */
export async function removeFromSchema(ownerUrl: string, removals: readonly SchemaRemoval[]): Promise<void> {
  const client = new Client({ connectionString: ownerUrl });
  await client.connect();
  try {
    // The simulation drops the months, and not the copies of functions for them.
    await client.query("SET check_function_bodies = off");
    const reasons: string[] = [];
    for (const removal of distinct(removals)) {
      if (removal.type === "refusal") reasons.push(await knownReason(client, removal.reason));
      else for (const statement of await statementsOf(client, removal)) await client.query(statement);
    }
    if (reasons.length > 0) await client.query(refuseAllBut(reasons));
  } finally {
    await client.end();
  }
}

/** Two rules may be enforced by the same object. */
function distinct(removals: readonly SchemaRemoval[]): SchemaRemoval[] {
  return [...new Map(removals.map((removal) => [JSON.stringify(removal), removal])).values()];
}

const missing = (name: string, found: number) =>
  new Error(`${name} occurs ${found} times in the schema, not once. Update src/dev/simulation/rules.`);

async function knownReason(client: Client, reason: string): Promise<string> {
  const { rowCount } = await client.query(
    // If a guard and a function of payments refuse alike, the guard is the named one.
    `SELECT FROM (SELECT prosecdef, bool_or(NOT prosecdef) OVER () AS in_guard FROM pg_proc WHERE position('app.refuse(' || quote_literal($1::text) IN prosrc) > 0
       AND (pronamespace = 'app'::regnamespace AND NOT prosecdef OR pronamespace = 'partitions'::regnamespace AND proname LIKE '%_rest')) p
     WHERE NOT (in_guard AND prosecdef)`,
    [reason],
  );
  if (rowCount !== 1) throw missing(`a guard that refuses with "${reason}"`, rowCount ?? 0);
  return reason;
}

const refuseAllBut = (reasons: readonly string[]) => `
  CREATE OR REPLACE FUNCTION app.refuse(reason text) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    IF reason ^@ ANY (ARRAY[${reasons.map(escapeLiteral).join(", ")}]) THEN RETURN; END IF;
    RAISE EXCEPTION '%', reason USING ERRCODE = 'check_violation';
  END $$`;

async function statementsOf(
  client: Client,
  removal: Exclude<SchemaRemoval, { type: "refusal" }>,
): Promise<readonly string[]> {
  switch (removal.type) {
    case "constraint":
      return constraintStatements(client, removal);
    case "uniqueIndex": {
      const { rowCount } = await client.query(
        "SELECT FROM pg_index WHERE indexrelid = to_regclass($1) AND indisunique AND NOT indisprimary",
        [removal.name],
      );
      if (rowCount !== 1) throw missing(`the unique index ${removal.name}`, rowCount ?? 0);
      return [`DROP INDEX ${escapeIdentifier(removal.name)}`];
    }
    case "text": {
      const { rows } = await client.query<{ definition: string }>(
        `SELECT pg_get_functiondef(oid) AS definition FROM pg_proc
         WHERE pronamespace = 'app'::regnamespace AND proname = $1
           OR pronamespace = 'partitions'::regnamespace AND proname ~ ('^' || $1 || '_(rest|[0-9]{4}_[0-9]{2})$')`,
        [removal.of],
      );
      return rows.map(({ definition }) => {
        const parts = definition.split(removal.text);
        if (parts.length !== 2) throw missing(`"${removal.text}" in ${removal.of}`, parts.length - 1);
        return parts.join(removal.instead);
      });
    }
    case "lock": {
      const { rows } = await client.query<{ text: string }>("SELECT pg_get_functiondef(to_regproc($1)) AS text", [
        removal.guard,
      ]);
      const parts = (rows[0]?.text ?? "").split(" FOR UPDATE;");
      if (parts.length !== 2) throw missing(`the lock of ${removal.guard}`, parts.length - 1);
      return [parts.join(";"), copyFunctions];
    }
    default:
      return unreachable(removal);
  }
}

const copyFunctions = "SELECT app.copy_functions('_rest', suffix) FROM app.partition_sets WHERE kind = 'payments'";

/** A check or a primary key is dropped from the whole table; a foreign key between partitions from each of them. */
async function constraintStatements(
  client: Client,
  { name, instead }: Extract<SchemaRemoval, { type: "constraint" }>,
): Promise<string[]> {
  const { rows } = await client.query<{ table: string }>(
    `SELECT conrelid::regclass::text AS table FROM pg_constraint
     WHERE conname = $1 AND contype IN ('c', 'f', 'p') AND coninhcount = 0 AND conparentid = 0`,
    [name],
  );
  if (rows.length === 0) throw missing(`the constraint ${name}`, 0);
  return rows.flatMap(({ table }) => [
    `ALTER TABLE ${table} DROP CONSTRAINT ${escapeIdentifier(name)}`,
    ...(instead === undefined
      ? []
      : [`ALTER TABLE ${table} ADD CONSTRAINT ${escapeIdentifier(name)} CHECK (${instead})`]),
  ]);
}
