/** Whether the triggers, checks and unique indexes that the migrations made are still there, in force and whole. */
import { type DatabaseKind, schemaHistory } from "../migrations/schema-history.ts";
import { readSql } from "../migrations/sql-statements.ts";
import type { Queryable } from "../platform/database.ts";
import { type Finding, ok, problem } from "./finding.ts";

/** What a kind of database must have; triggers and constraints as `table.name`. */
export type Guards = {
  readonly triggers: ReadonlySet<string>;
  readonly uniqueIndexes: ReadonlySet<string>;
  readonly constraints: ReadonlySet<string>;
  /** How many checks each table has, those included to which PostgreSQL gave a name. */
  readonly checks: ReadonlyMap<string, number>;
};

/** The guards that are left when all migrations of a kind have run one after another. */
export function guardsOf(kind: DatabaseKind): Guards {
  const triggers = new Set<string>();
  const uniqueIndexes = new Set<string>();
  const constraints = new Set<string>();
  const checks = new Map<string, number>();
  const count = (table: string, more: number) => checks.set(table, (checks.get(table) ?? 0) + more);
  for (const { text } of schemaHistory[kind].flatMap(({ sql }) => readSql([sql].flat().join(";\n")).statements)) {
    const [, trigger, triggered] = /^create (?:constraint )?trigger (\w+) .*? on (\w+)/.exec(text) ?? [];
    if (trigger) triggers.add(`${triggered}.${trigger}`);
    const [, droppedTrigger, freed] = /^drop trigger (?:if exists )?(\w+) on (\w+)/.exec(text) ?? [];
    if (droppedTrigger) triggers.delete(`${freed}.${droppedTrigger}`);
    const [, index] = /^create unique index (?:concurrently )?(?:if not exists )?(\w+) on/.exec(text) ?? [];
    if (index) uniqueIndexes.add(index);
    const [, droppedIndex] = /^drop index (?:concurrently )?(?:if exists )?(\w+)/.exec(text) ?? [];
    if (droppedIndex) uniqueIndexes.delete(droppedIndex);
    const [, table] =
      /^(?:create(?: unlogged)? table (?:if not exists )?|alter table (?:if exists |only )*)(?:public[.])?(\w+)(?= )/.exec(
        text,
      ) ?? [];
    if (table === undefined) continue;
    count(table, [...text.matchAll(/\bcheck ?\(/g)].length);
    for (const [, verb, name] of text.matchAll(/(add |drop |[(,] ?)constraint (?:if exists )?(\w+)/g)) {
      const isCheck = constraints.has(`${table}.${name}`) || /_check\d*$/.test(name ?? "");
      if (verb !== "drop ") constraints.add(`${table}.${name}`);
      else if (constraints.delete(`${table}.${name}`) || isCheck) count(table, -1);
    }
  }
  return { triggers, uniqueIndexes, constraints, checks };
}

/** Every table of ours under the name of the whole one, if it is a partition; its own objects have the rest at their ends. */
const tables = `tables AS (
  SELECT c.oid, coalesce(p.relname, c.relname) AS root, substr(c.relname, length(coalesce(p.relname, c.relname)) + 1) AS suffix,
    p.oid IS NOT NULL AS "isPart"
  FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_class p ON p.oid = i.inhparent
  WHERE c.relkind IN ('r', 'p') AND c.relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname IN ('public', 'partitions')))`;
const selectTables = { name: "examine_tables", text: `WITH ${tables} SELECT root AS "table", "isPart" FROM tables` };
const selectTriggers = {
  name: "examine_triggers",
  text: `WITH ${tables} SELECT root AS "table", root || '.' || t.tgname AS name, t.tgenabled <> 'D' AS whole, "isPart"
         FROM pg_trigger t JOIN tables ON tables.oid = t.tgrelid WHERE NOT t.tgisinternal`,
};
const selectUniqueIndexes = {
  name: "examine_unique_indexes",
  text: `WITH ${tables} SELECT root AS "table", i.indisvalid AS whole, "isPart",
           CASE WHEN suffix <> '' AND right(x.relname, length(suffix)) = suffix
             THEN left(x.relname, -length(suffix)) ELSE x.relname END AS name
         FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN tables ON tables.oid = i.indrelid
         WHERE i.indisunique AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = x.oid)`,
};
const selectConstraints = {
  name: "examine_constraints",
  text: `WITH ${tables} SELECT root AS "table", root || '.' || k.conname AS name, k.convalidated AS whole, "isPart", k.contype = 'c' AS "isCheck"
         FROM pg_constraint k JOIN tables ON tables.oid = k.conrelid`,
};

type Row = { readonly table: string; readonly name: string; readonly whole: boolean; readonly isPart: boolean };

/** What a database has, of each kind. A guard that each partition has for itself is there once for each. */
export type FoundGuards = {
  readonly triggers: readonly Row[];
  readonly uniqueIndexes: readonly Row[];
  readonly constraints: readonly (Row & { readonly isCheck: boolean })[];
  /** How many partitions each table has. */
  readonly parts: ReadonlyMap<string, number>;
};

/** Reads them out of the catalog, which every role may. */
export async function loadGuards(database: Queryable): Promise<FoundGuards> {
  const [every, triggers, uniqueIndexes, constraints] = await Promise.all([
    database.query<Pick<Row, "table" | "isPart">>(selectTables, []),
    database.query<Row>(selectTriggers, []),
    database.query<Row>(selectUniqueIndexes, []),
    database.query<Row & { isCheck: boolean }>(selectConstraints, []),
  ]);
  const parts = new Map<string, number>();
  for (const { table, isPart } of every) parts.set(table, (parts.get(table) ?? 0) + (isPart ? 1 : 0));
  return { triggers, uniqueIndexes, constraints, parts };
}

/** One line where all of them hold, else one for each that does not. */
export async function examineGuards(area: string, kind: DatabaseKind, database: Queryable): Promise<Finding[]> {
  const guards = guardsOf(kind);
  const found = await loadGuards(database);
  const broken = [
    ...findBroken("trigger", guards.triggers, found.triggers, found.parts),
    ...findBroken("unique index", guards.uniqueIndexes, found.uniqueIndexes, found.parts),
    ...findBroken("constraint", guards.constraints, found.constraints, found.parts),
    ...findMissingChecks(guards.checks, found),
  ];
  if (broken.length === 0) return [ok(area, "its triggers, checks and unique indexes are in force")];
  const remedy =
    "find out who changed it, stop the workers, put it back as in src/migrations, and look at every session since: SELECT * FROM app.audit()";
  return broken.map((says) => problem(area, says, remedy));
}

function findBroken(
  what: string,
  wanted: ReadonlySet<string>,
  found: readonly Row[],
  parts: ReadonlyMap<string, number>,
): string[] {
  return [...wanted].flatMap((name) => {
    const rows = found.filter((row) => row.name === name);
    const [first] = rows;
    if (first === undefined) return [`the ${what} ${name} is missing`];
    const isEverywhere = rows.some(({ isPart }) => !isPart) || rows.length === parts.get(first.table);
    if (!isEverywhere) return [`the ${what} ${name} is missing on some partitions`];
    return rows.every(({ whole }) => whole) ? [] : [`the ${what} ${name} is not in force`];
  });
}

/** On the whole tables: partitions have what these have. */
function findMissingChecks(wanted: ReadonlyMap<string, number>, { constraints }: FoundGuards): string[] {
  return [...wanted].flatMap(([table, count]) => {
    const own = constraints.filter((row) => row.table === table && !row.isPart && row.isCheck && row.whole).length;
    return own < count ? [`${count - own} of the ${count} checks of ${table} are missing or not in force`] : [];
  });
}
