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
      /^(?:create(?: unlogged)? table (?:if not exists )?|alter table (?:if exists |only )*)(\w+)/.exec(text) ?? [];
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

const selectTriggers = {
  name: "examine_triggers",
  text: `SELECT c.relname || '.' || t.tgname AS name, t.tgenabled <> 'D' AS whole FROM pg_trigger t
         JOIN pg_class c ON c.oid = t.tgrelid WHERE NOT t.tgisinternal AND c.relnamespace = 'public'::regnamespace`,
};
const selectUniqueIndexes = {
  name: "examine_unique_indexes",
  text: `SELECT c.relname AS name, i.indisvalid AS whole FROM pg_index i
         JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indisunique AND c.relnamespace = 'public'::regnamespace`,
};
const selectConstraints = {
  name: "examine_constraints",
  text: `SELECT c.relname || '.' || k.conname AS name, k.convalidated AS whole, c.relname AS "table", k.contype = 'c' AS "isCheck"
         FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid WHERE c.relnamespace = 'public'::regnamespace`,
};

type Row = { readonly name: string; readonly whole: boolean };
type ConstraintRow = Row & { readonly table: string; readonly isCheck: boolean };

/** One line where all of them hold, else one for each that does not. */
export async function examineGuards(area: string, kind: DatabaseKind, database: Queryable): Promise<Finding[]> {
  const guards = guardsOf(kind);
  const [triggers, indexes, constraints] = await Promise.all([
    database.query<Row>(selectTriggers, []),
    database.query<Row>(selectUniqueIndexes, []),
    database.query<ConstraintRow>(selectConstraints, []),
  ]);
  const broken = [
    ...findBroken("trigger", guards.triggers, triggers),
    ...findBroken("unique index", guards.uniqueIndexes, indexes),
    ...findBroken("constraint", guards.constraints, constraints),
    ...findMissingChecks(guards.checks, constraints),
  ];
  if (broken.length === 0) return [ok(area, "its triggers, checks and unique indexes are in force")];
  const remedy =
    "find out who changed it, stop the workers, put it back as in src/migrations, and look at every session since: SELECT * FROM app.audit()";
  return broken.map((says) => problem(area, says, remedy));
}

function findBroken(what: string, wanted: ReadonlySet<string>, found: readonly Row[]): string[] {
  return [...wanted].flatMap((name) => {
    const rows = found.filter((row) => row.name === name);
    if (rows.length === 0) return [`the ${what} ${name} is missing`];
    return rows.every(({ whole }) => whole) ? [] : [`the ${what} ${name} is not in force`];
  });
}

function findMissingChecks(wanted: ReadonlyMap<string, number>, found: readonly ConstraintRow[]): string[] {
  return [...wanted].flatMap(([table, count]) => {
    const there = found.filter((row) => row.table === table && row.isCheck && row.whole).length;
    return there < count ? [`${count - there} of the ${count} checks of ${table} are missing or not in force`] : [];
  });
}
