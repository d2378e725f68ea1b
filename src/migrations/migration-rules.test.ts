import { describe, expect, it } from "vitest";
import { sha256 } from "../platform/secrets.ts";
import { findViolations, type MigrationRule, migrationRules } from "./migration-rules.ts";
import { type DatabaseKind, type SqlFile, schemaHistory } from "./schema-history.ts";

const earlier: SqlFile[] = [
  { name: "001", sql: "CREATE TABLE session (id uuid, paid_at timestamptz, note text);" },
  { name: "002", sql: "ALTER TABLE session ADD CONSTRAINT noted CHECK (note IS NOT NULL) NOT VALID;" },
];
const rulesOf = (sql: string) => findViolations({ name: "003", sql }, earlier).map(({ rule }) => rule);
const rulesOutside = (...sql: string[]) =>
  findViolations({ name: "003", sql, outsideTransaction: true }, earlier).map(({ rule }) => rule);

const dangerous: Record<Exclude<MigrationRule, "not-repeatable">, readonly string[]> = {
  "drop-table": ["DROP TABLE session", "drop table if exists public.session cascade"],
  "drop-column": ["ALTER TABLE session DROP COLUMN note", "ALTER TABLE ONLY session ADD COLUMN a int, DROP note"],
  "drop-index": ["DROP INDEX session_of_order"],
  "drop-function": ["DROP FUNCTION app.clock()", "DROP VIEW applied"],
  rename: ["ALTER TABLE session RENAME COLUMN note TO word", "ALTER INDEX a RENAME TO b"],
  "change-type": [
    "ALTER TABLE session ALTER COLUMN note TYPE varchar(9)",
    "ALTER TABLE session ALTER note SET DATA TYPE int",
  ],
  "set-not-null": ["ALTER TABLE session ALTER COLUMN paid_at SET NOT NULL"],
  "add-not-null": ["ALTER TABLE session ADD COLUMN word text NOT NULL"],
  "volatile-default": [
    "ALTER TABLE session ADD COLUMN key uuid NOT NULL DEFAULT gen_random_uuid()",
    "ALTER TABLE session ADD seen timestamptz DEFAULT app.clock()",
    "ALTER TABLE session ADD COLUMN nr bigserial",
    "ALTER TABLE session ADD COLUMN short text GENERATED ALWAYS AS (left(note, 3)) STORED",
  ],
  "index-not-concurrent": ["CREATE UNIQUE INDEX session_note ON session (note)", "REINDEX TABLE session"],
  "concurrent-in-transaction": ["CREATE INDEX CONCURRENTLY session_note ON session (note)"],
  "constraint-at-once": [
    "ALTER TABLE session ADD CONSTRAINT paid CHECK (paid_at > 'epoch')",
    "ALTER TABLE session ADD FOREIGN KEY (note) REFERENCES word (id)",
    "ALTER TABLE session ADD COLUMN amount int CHECK (amount > 0)",
    "ALTER TABLE session ADD UNIQUE (note)",
  ],
  "validate-with-add": [
    "ALTER TABLE session ADD CONSTRAINT paid CHECK (note <> '') NOT VALID; ALTER TABLE session VALIDATE CONSTRAINT paid",
  ],
  "change-rows": [
    "UPDATE session SET note = ''",
    "DELETE FROM session WHERE note IS NULL",
    "WITH old AS (SELECT 1) UPDATE session SET note = ''",
    "CREATE TABLE copy (id uuid); INSERT INTO copy (id) SELECT id FROM session",
  ],
  truncate: ["TRUNCATE session"],
  "lock-table": ["LOCK TABLE session IN ACCESS EXCLUSIVE MODE"],
  rewrite: ["VACUUM FULL session", "ALTER TABLE session SET UNLOGGED", "CLUSTER session"],
  "dynamic-sql": ["DO $$ BEGIN EXECUTE 'DROP TABLE ' || 'session'; END $$"],
  "own-timeout": ["SET LOCAL lock_timeout = '1h'"],
};

describe("findViolations()", () => {
  it.each(Object.entries(dangerous).flatMap(([rule, texts]) => texts.map((sql) => [rule, sql] as const)))(
    "finds %s in: %s",
    (rule, sql) => expect(rulesOf(`${sql};`)).toEqual([rule]),
  );

  it.each([
    "ALTER TABLE session ADD COLUMN word text, ADD COLUMN at timestamptz NOT NULL DEFAULT now()",
    "ALTER TABLE session ADD COLUMN tags text[] NOT NULL DEFAULT '{}'",
    "ALTER TABLE session ADD CONSTRAINT paid CHECK (paid_at > 'epoch') NOT VALID",
    "ALTER TABLE session VALIDATE CONSTRAINT noted; ALTER TABLE session ALTER COLUMN note SET NOT NULL",
    "ALTER TABLE session DROP CONSTRAINT noted, ALTER note DROP NOT NULL",
    "ALTER TABLE session ADD COLUMN word_id uuid REFERENCES word (id)",
    "CREATE TABLE word (id uuid); CREATE INDEX word_id ON word (id); ALTER TABLE word ADD CHECK (id IS NOT NULL)",
    "CREATE TABLE word (id uuid); INSERT INTO word VALUES ('x'); UPDATE word SET id = NULL; DROP TABLE word",
    "CREATE FUNCTION f() RETURNS void LANGUAGE sql AS $$ DELETE FROM session; LOCK TABLE session $$",
    "INSERT INTO session (note) VALUES ('DROP TABLE session; -- TRUNCATE')",
  ])("takes: %s", (sql) => expect(rulesOf(`${sql};`)).toEqual([]));

  it("looks into blocks that run there and then", () => {
    expect(rulesOf("DO $$ BEGIN IF true THEN UPDATE session SET note = ''; END IF; END $$;")).toEqual(["change-rows"]);
  });

  it("takes what runs in no transaction only when a second run is harmless", () => {
    const create = "CREATE INDEX CONCURRENTLY session_note ON session (note)";
    expect(rulesOutside("DROP INDEX CONCURRENTLY IF EXISTS session_note", create)).toEqual([]);
    expect(rulesOutside(create)).toEqual(["not-repeatable"]);
    // An index that was left half-built has its name.
    expect(rulesOutside(create.replace("CONCURRENTLY", "CONCURRENTLY IF NOT EXISTS"))).toEqual(["not-repeatable"]);
    expect(rulesOutside("ALTER TABLE session ADD COLUMN word text")).toEqual(["not-repeatable"]);
  });

  it("takes an exception that gives its reason, and no other", () => {
    const sql = "TRUNCATE session;";
    expect(rulesOf(`-- allowed: truncate: it holds nothing that is not made again\n${sql}`)).toEqual([]);
    expect(rulesOf(`-- allowed: truncate:\n${sql}`)).toEqual(["truncate"]);
    expect(rulesOf(`-- allowed: lock-table: it is small and rarely used\n${sql}`)).toEqual(["truncate", "needless"]);
    expect(rulesOf(`-- allowed: trunkate: it is small and rarely used\n${sql}`)).toEqual(["truncate", "unknown"]);
  });
});

// A released migration never changes: an installation that has applied it would miss the change. The baseline is
// released with 0.1.0; until then, who changes it writes the digests anew.
const frozen: Record<DatabaseKind, { readonly files: number; readonly digest: string }> = {
  environment: { files: 1, digest: "0c6348d0ef785345" },
  accounts: { files: 1, digest: "ff2047e9efcfcfc6" },
  vault: { files: 1, digest: "e5aab3e8c3ea7869" },
};

describe.each(Object.keys(frozen) as DatabaseKind[])("the migrations of %s", (kind) => {
  const { files, digest } = frozen[kind];

  it("are numbered in their order", () => {
    const numbers = schemaHistory[kind].map(({ name }) => name.slice(0, 3));
    expect(numbers).toEqual(numbers.toSorted());
    expect(new Set(numbers).size).toBe(numbers.length);
  });

  it("are as they were released", () => {
    const released = schemaHistory[kind].slice(0, files);
    expect(sha256(JSON.stringify(released)).toString("hex").slice(0, 16)).toBe(digest);
  });

  it("can be applied beside the code before them and the code after them", () => {
    const history = schemaHistory[kind];
    const found = history.slice(files).flatMap((file, at) =>
      findViolations(file, history.slice(0, files + at)).map(({ rule, statement }) => {
        const instead = rule in migrationRules ? migrationRules[rule as MigrationRule] : "say nothing of this rule";
        return `${file.name}: ${rule}: ${statement.slice(0, 100)}: ${instead}; or \`-- allowed: ${rule}: <reason>\` in it`;
      }),
    );
    expect(found).toEqual([]);
  });
});
