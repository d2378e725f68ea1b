/** Compares a database with the committed schema: its tables, guards and functions are there, in force and as this version has them. */
import {
  committedSchema,
  type FoundObject,
  type FoundSchema,
  keyOf,
  loadSchema,
  type SchemaDump,
} from "../migrations/schema-dump.ts";
import type { DatabaseKind } from "../migrations/schema-history.ts";
import type { Queryable } from "../platform/database.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

/** Kinds that a payment may depend on, and kinds that only make it slow or surprise a person. */
const guardKinds = ["constraint", "unique index", "function", "trigger", "view"];
const otherKinds = ["table", "index"];

/** An object that differs from the schema, in words. */
type Broken = { readonly kind: string; readonly says: string };

/**
 * Returns one finding if everything is in order, otherwise one for each object that is not. `isNewer`: the database has
 * migrations of a newer version, which may have changed these objects.
 */
export async function examineGuards(
  area: string,
  { kind, isNewer = false }: { readonly kind: DatabaseKind; readonly isNewer?: boolean },
  database: Queryable,
): Promise<Finding[]> {
  const broken = findBroken(committedSchema(kind), await loadSchema(database), isNewer);
  if (broken.length === 0) return [ok(area, "its triggers, checks, unique indexes and functions are in force")];
  const file = `src/migrations/${kind}/schema.sql`;
  return broken.map((one) =>
    guardKinds.includes(one.kind)
      ? problem(
          area,
          one.says,
          `find out who changed it, stop the workers, restore it as in ${file}, and check every session since: SELECT * FROM app.audit()`,
        )
      : warning(area, one.says, `find out who changed it, and restore it as in ${file}`),
  );
}

/** Every object of the committed schema that a database lacks, or has otherwise. */
function findBroken(committed: SchemaDump, found: FoundSchema, isNewer: boolean): Broken[] {
  const byKey = Map.groupBy(found.objects, keyOf);
  const parts = countParts(found);
  // Each version of PostgreSQL has its own words for an expression; a function's body is kept as it was written.
  const hasSameWords = committed.postgresMajor === found.postgresMajor;
  return [...committed.objects.values()]
    .filter(({ kind }) => guardKinds.includes(kind) || otherKinds.includes(kind))
    .flatMap(({ kind, name, definition }) => {
      const what = `the ${kind} ${name}`;
      const all = byKey.get(keyOf({ kind, name })) ?? [];
      const own = all.filter(({ isInherited }) => !isInherited);
      const isComparable = !isNewer && (hasSameWords || kind === "function");
      const says =
        own.length === 0
          ? `${what} is missing`
          : !isEverywhere(own, parts)
            ? `${what} is missing on some partitions`
            : !all.every(({ isInForce }) => isInForce)
              ? `${what} is not in force`
              : isComparable && own.some((one) => one.definition !== definition)
                ? `${what} differs from this version`
                : undefined;
      return says === undefined ? [] : [{ kind, says }];
    });
}

/** Reports whether an object belongs to the whole table, or to each of its partitions. */
function isEverywhere(own: readonly FoundObject[], parts: ReadonlyMap<string, number>): boolean {
  return own.some(({ isPart }) => !isPart) || own.length === parts.get(own[0]!.table);
}

function countParts({ objects }: FoundSchema): ReadonlyMap<string, number> {
  const tables = objects.filter(({ kind, isPart }) => kind === "table" && isPart);
  return new Map([...Map.groupBy(tables, ({ table }) => table)].map(([table, rows]) => [table, rows.length]));
}
