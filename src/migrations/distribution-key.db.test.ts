import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../dev/testing/postgres.ts";

let database: TestDatabase;
let client: Client;
beforeAll(async () => {
  database = await createTestDatabase("environment");
  client = new Client({ connectionString: database.ownerUrl });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

// By which column a database of many machines would spread each table (docs/postgresql.md). Tables with one key lie
// together: what belongs to a session is on one machine. A reference table is small, and whole on every machine.
const distributedBy: Readonly<Record<string, string | "reference">> = {
  payment_session: "id",
  attempt: "session_id",
  outbox_event: "session_id",
  delivery: "session_id",
  orphaned_authorization: "session_id",
  work_item: "session_id",
  vault_session: "session_id",
  delivery_attempt: "event_id",
  idempotency: "merchant_id",
  audit_entry: "merchant_id",
  analytics_payment: "merchant_id",
  analytics_attempt: "merchant_id",
  analytics_decline: "merchant_id",
  unclassified_code: "merchant_id",
  request_bucket: "merchant_id",
  gateway_notification: "connection_id",
};

// What cannot contain the key, and what holds instead.
const exceptions: Readonly<Record<string, string>> = {
  attempt_gateway_reference: "each month has one of its own, and a trigger under a lock looks into the others",
  work_item_pkey: "an id made at random is unique without an index; a person asks for a row by it",
  audit_entry_pkey: "an id made at random is unique without an index",
};

type Index = { table: string; name: string; columns: string[] };
const uniqueIndexes = `
  SELECT regexp_replace(t.relname, '_rest$', '') AS table, regexp_replace(x.relname, '_rest$', '') AS name,
    array_agg(coalesce(a.attname, '(expression)') ORDER BY k.place)::text[] AS columns
  FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid JOIN pg_class x ON x.oid = i.indexrelid,
    unnest(i.indkey) WITH ORDINALITY AS k (number, place) LEFT JOIN pg_attribute a ON a.attnum = k.number
  WHERE i.indisunique AND t.relkind IN ('r','p') AND (t.relnamespace = 'public'::regnamespace
      OR t.relname LIKE '%\\_rest' AND NOT EXISTS (SELECT FROM pg_inherits h WHERE h.inhrelid = i.indexrelid))
    AND (a.attrelid = t.oid OR k.number = 0) GROUP BY 1, 2 ORDER BY 1, 2`;

type Key = { table: string; name: string; columns: string[]; target: string; targetColumns: string[] };
const foreignKeys = `
  SELECT regexp_replace(t.relname, '_rest$', '') AS table, c.conname AS name, regexp_replace(r.relname, '_rest$', '') AS target,
    ARRAY(SELECT attname::text FROM unnest(c.conkey) WITH ORDINALITY k (n, p) JOIN pg_attribute ON attrelid = t.oid AND attnum = n ORDER BY p) AS columns,
    ARRAY(SELECT attname::text FROM unnest(c.confkey) WITH ORDINALITY k (n, p) JOIN pg_attribute ON attrelid = r.oid AND attnum = n ORDER BY p) AS "targetColumns"
  FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid JOIN pg_class r ON r.oid = c.confrelid
  WHERE c.contype = 'f' AND c.conparentid = 0 AND (t.relnamespace = 'public'::regnamespace OR t.relname LIKE '%\\_rest')`;

const keyOf = (table: string) => distributedBy[table] ?? "reference";

describe("a table that could be spread over many machines", () => {
  it("has its distribution key in every unique index, but for the exceptions that are named", async () => {
    const { rows } = await client.query<Index>(uniqueIndexes);
    const spread = rows.filter(({ table }) => keyOf(table) !== "reference");
    expect(new Set(spread.map(({ table }) => table))).toEqual(new Set(Object.keys(distributedBy)));
    const without = spread.filter(({ table, columns }) => !columns.includes(keyOf(table)));
    expect(without.map(({ name }) => name)).toEqual(Object.keys(exceptions).toSorted());
  });

  it("refers to rows of the same key, or to a reference table", async () => {
    const { rows } = await client.query<Key>(foreignKeys);
    const apart = rows.filter(({ table, columns, target, targetColumns }) => {
      if (keyOf(target) === "reference") return false;
      const at = columns.indexOf(keyOf(table));
      return at < 0 || targetColumns[at] !== keyOf(target);
    });
    expect(rows.length).toBeGreaterThan(5);
    expect(apart).toEqual([]);
  });
});
