/** Reads a database's schema from its catalog and the committed one from its file, to compare them object by object. */
import { readFileSync } from "node:fs";
import type { Queryable } from "../platform/database.ts";
import type { DatabaseKind } from "./schema-history.ts";

/** An object of a schema. Objects that each partition has separately count as one, named after the whole table. */
type SchemaObject = {
  readonly kind: string;
  /** Constraints and triggers as `table.name`; of `public` without the schema. */
  readonly name: string;
  /** The statement that creates it; for an object of partitions, the one of the partition `_rest`. */
  readonly definition: string;
};

/** A committed schema: its objects by kind and name, and the PostgreSQL version that wrote the definitions. */
export type SchemaDump = { readonly postgresMajor: number; readonly objects: ReadonlyMap<string, SchemaObject> };

export function keyOf({ kind, name }: Pick<SchemaObject, "kind" | "name">): string {
  return `${kind} ${name}`;
}

/**
 * The product's tables, where a partition has the name of the whole table. The names of a partition's own objects end
 * with the rest of the partition's name.
 */
const tables = `tables AS (
  SELECT c.oid, c.relkind, c.relpersistence, c.reloptions, c.relowner, c.relacl, p.oid IS NOT NULL AS "isPart",
    CASE n.nspname WHEN 'public' THEN '' WHEN 'partitions' THEN '' ELSE n.nspname || '.' END || coalesce(p.relname, c.relname) AS root,
    substr(c.relname, length(coalesce(p.relname, c.relname)) + 1) AS suffix,
    pg_get_expr(c.relpartbound, c.oid) AS bound
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_class p ON p.oid = i.inhparent
  WHERE c.relkind IN ('r', 'p', 'v') AND n.nspname IN ('public', 'app', 'partitions')
    AND NOT (n.nspname = 'public' AND c.relname IN ('migration', 'applied_migration'))
    AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.classid = 'pg_class'::regclass AND d.deptype = 'e'))`;

const columns = `(SELECT string_agg(format(E'\\n  %I %s%s%s', a.attname, format_type(a.atttypid, a.atttypmod),
      CASE WHEN a.attgenerated = 's' THEN ' GENERATED ALWAYS AS (' || pg_get_expr(d.adbin, d.adrelid) || ') STORED'
           WHEN d.oid IS NOT NULL THEN ' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid) ELSE '' END,
      CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END), ',' ORDER BY a.attnum)
    FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped)`;

const granted = (acl: string, owner: string) => `
  SELECT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE 'the runtime role' END AS grantee,
    string_agg(DISTINCT privilege_type, ', ' ORDER BY privilege_type) AS privileges
  FROM aclexplode(${acl}) WHERE grantee <> ${owner} GROUP BY 1`;

/** Reads every object. Of the thousands that partitions inherit, it reads only those that are not in force. */
const selectSchema = {
  name: "load_schema",
  text: `WITH ${tables}
    SELECT 'schema' AS kind, nspname::text AS name, 'CREATE SCHEMA ' || nspname AS definition, '' AS suffix,
      false AS "isPart", false AS "isInherited", true AS "isInForce", '' AS "table"
    FROM pg_namespace WHERE nspname IN ('app', 'partitions')
    UNION ALL
    SELECT 'table', root, CASE WHEN "isPart" THEN '' ELSE format(E'CREATE %sTABLE %s (%s\\n)%s%s', CASE relpersistence WHEN 'u' THEN 'UNLOGGED ' ELSE '' END, root,
        ${columns}, ' PARTITION BY ' || pg_get_partkeydef(t.oid), ' WITH (' || array_to_string(reloptions, ', ') || ')') END,
      suffix, "isPart", "isPart", true, root
    FROM tables t WHERE relkind <> 'v'
    UNION ALL
    SELECT 'partition', 'partitions.' || root || suffix, format('CREATE TABLE partitions.%s PARTITION OF %s %s', root || suffix, root, bound),
      '', false, false, true, root
    FROM tables WHERE "isPart" AND bound = 'DEFAULT'
    UNION ALL
    SELECT 'view', root, format('CREATE VIEW %s AS%s', root, E'\\n' || rtrim(pg_get_viewdef(oid), ';')), '', false, false, true, root
    FROM tables WHERE relkind = 'v'
    UNION ALL
    SELECT 'constraint', root || '.' || k.conname,
      format('ALTER TABLE %s ADD CONSTRAINT %I %s', k.conrelid::regclass, k.conname, pg_get_constraintdef(k.oid)), suffix, "isPart",
      k.conparentid <> 0 OR k.coninhcount > 0, k.convalidated, root
    FROM pg_constraint k JOIN tables ON tables.oid = k.conrelid
    WHERE k.contype IN ('c', 'f', 'p', 'u', 'x') AND (k.conparentid = 0 AND k.coninhcount = 0 OR NOT k.convalidated)
    UNION ALL
    SELECT CASE WHEN i.indisunique THEN 'unique index' ELSE 'index' END,
      CASE WHEN suffix <> '' AND right(x.relname, length(suffix)) = suffix
        THEN left(x.relname, -length(suffix)) ELSE x.relname END,
      pg_get_indexdef(x.oid), suffix, "isPart", h.inhparent IS NOT NULL, i.indisvalid, root
    FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN tables ON tables.oid = i.indrelid
      LEFT JOIN pg_inherits h ON h.inhrelid = x.oid
    WHERE NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = x.oid AND k.contype IN ('p', 'u', 'x'))
      AND (h.inhparent IS NULL OR NOT i.indisvalid)
    UNION ALL
    SELECT 'trigger', root || '.' || g.tgname, pg_get_triggerdef(g.oid), suffix, "isPart", g.tgparentid <> 0, g.tgenabled IN ('O', 'A'), root
    FROM pg_trigger g JOIN tables ON tables.oid = g.tgrelid WHERE NOT g.tgisinternal
      AND (g.tgparentid = 0 OR g.tgenabled NOT IN ('O', 'A'))
    UNION ALL
    SELECT 'function', format('%s%s(%s)', CASE n.nspname WHEN 'public' THEN '' ELSE n.nspname || '.' END, f.proname,
        pg_get_function_identity_arguments(f.oid)), rtrim(pg_get_functiondef(f.oid), E'\\n'), '', false, false, true, ''
    FROM pg_proc f JOIN pg_namespace n ON n.oid = f.pronamespace
    WHERE n.nspname IN ('public', 'app') AND f.prokind IN ('f', 'p')
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = f.oid AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e')
    UNION ALL
    SELECT 'function', format('partitions.%s(%s)', left(f.proname, -length(t.suffix)), pg_get_function_identity_arguments(f.oid)),
      rtrim(pg_get_functiondef(f.oid), E'\\n'), t.suffix, true, false, true, t.root
    FROM pg_proc f JOIN pg_namespace n ON n.oid = f.pronamespace AND n.nspname = 'partitions'
      JOIN tables t ON t."isPart" AND t.root = 'payment_session' AND right(f.proname, length(t.suffix)) = t.suffix
    UNION ALL
    SELECT 'privileges', format('%s to %s', t.root, g.grantee), format('GRANT %s ON %s TO %s', g.privileges, t.root, g.grantee), '',
      false, false, true, ''
    FROM tables t, LATERAL (${granted("t.relacl", "t.relowner")}) g WHERE NOT t."isPart"
    UNION ALL
    SELECT 'privileges', format('schema %s to %s', n.nspname, g.grantee), format('GRANT %s ON SCHEMA %s TO %s', g.privileges, n.nspname, g.grantee),
      '', false, false, true, ''
    FROM pg_namespace n, LATERAL (${granted("n.nspacl", "n.nspowner")}) g WHERE n.nspname IN ('app', 'partitions')
    UNION ALL
    SELECT 'privileges', format('new tables in %s to %s', n.nspname, g.grantee),
      format('ALTER DEFAULT PRIVILEGES IN SCHEMA %s GRANT %s ON TABLES TO %s', n.nspname, g.privileges, g.grantee), '', false, false, true, ''
    FROM pg_default_acl a JOIN pg_namespace n ON n.oid = a.defaclnamespace,
      LATERAL (${granted("a.defaclacl", "a.defaclrole")}) g WHERE a.defaclobjtype = 'r'`,
};
const selectVersion = {
  name: "load_server_version",
  text: "SELECT current_setting('server_version_num')::int / 10000 AS major",
};

/** An object of one database, once for each partition that has it separately or inherits it. */
export type FoundObject = SchemaObject & {
  /** The whole table that it belongs to; empty for none. */
  readonly table: string;
  readonly isPart: boolean;
  /** True if a partition inherits it from its whole table. */
  readonly isInherited: boolean;
  /** True for an enabled trigger, a validated constraint, a valid index, and any other object. */
  readonly isInForce: boolean;
};

/** The objects of a database, and the major version of its server. */
export type FoundSchema = { readonly postgresMajor: number; readonly objects: readonly FoundObject[] };

type Row = FoundObject & { readonly suffix: string };

/** Reads the catalog, which every role may read. */
export async function loadSchema(database: Queryable): Promise<FoundSchema> {
  const [rows, version] = await Promise.all([
    database.query<Row>(selectSchema, []),
    database.query<{ major: number }>(selectVersion, []),
  ]);
  return {
    postgresMajor: version[0]!.major,
    objects: rows.map(({ suffix, definition, ...row }) => ({ ...row, definition: plain(definition, suffix) })),
  };
}

/** Returns the definition without its search_path and its partition. */
function plain(definition: string, suffix: string): string {
  const words = definition.replaceAll(/\bpublic\./g, "");
  return suffix === "" ? words : words.replaceAll(suffix, "_rest");
}

const objectPattern = /^-- (unique index|[a-z]+) (.+)\n([\s\S]*?);\n(?=\n-- |$(?![\s\S]))/gm;

function readSchema(text: string): SchemaDump {
  const found = [...text.matchAll(objectPattern)].map(([, kind = "", name = "", definition = ""]) => {
    return { kind, name, definition };
  });
  return {
    postgresMajor: Number(/PostgreSQL (\d+)/.exec(text)?.[1]),
    objects: new Map(found.map((object) => [keyOf(object), object])),
  };
}

export function committedSchema(kind: DatabaseKind): SchemaDump {
  return readSchema(readFileSync(new URL(`./${kind}/schema.sql`, import.meta.url), "utf8"));
}
