/** Writes the schema of a database as a text that can be committed: src/migrations/…/schema.sql. */
import { join } from "node:path";
import { type FoundObject, type FoundSchema, keyOf } from "../../migrations/schema-dump.ts";
import type { DatabaseKind } from "../../migrations/schema-history.ts";

export function schemaFileOf(kind: DatabaseKind): string {
  return join(import.meta.dirname, "../../migrations", kind, "schema.sql");
}

/** Kinds of objects, in the order in which a dump has them. */
const kinds: readonly string[] = [
  ...["schema", "table", "constraint", "unique index", "index", "function", "trigger"],
  ...["view", "partition", "privileges"],
];

const header = (
  major: number,
) => `-- The whole schema as PostgreSQL ${major} describes it, written by \`npm run schema\`.
-- Read it, and change it by migrations. \`switchyard doctor\` compares a database with it.
`;

/** The text of a schema, the same for every database of one kind. */
export function writeSchema({ postgresMajor, objects }: FoundSchema): string {
  const own = objects.filter(({ isInherited }) => !isInherited);
  const texts = own.map((object) => ({ object, text: `-- ${keyOf(object)}\n${object.definition};\n` }));
  const ordered = texts.toSorted((left, right) => compare(left.object, right.object) || byText(left.text, right.text));
  return [header(postgresMajor), ...new Set(ordered.map(({ text }) => text))].join("\n");
}

function compare(left: FoundObject, right: FoundObject): number {
  return rank(left) - rank(right) || byText(left.name, right.name);
}

function rank({ kind }: FoundObject): number {
  return kinds.indexOf(kind);
}

const byText = (left: string, right: string) => (left < right ? -1 : left > right ? 1 : 0);
