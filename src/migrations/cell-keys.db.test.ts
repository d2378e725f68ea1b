import { Client } from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
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

// A merchant's rows, or a session's, are in one cell, so a rule about them needs no other one (docs/scaling.md). A row of
// `endpoint` or `connection` has one merchant, and a row of `outbox_event` or `delivery` one session.
const within = ["merchant_id", "session_id", "endpoint_id", "connection_id", "event_id"];

// Unique rules that look at rows of several merchants, and why each holds over several cells.
const otherwise: Readonly<Record<string, string>> = {
  analytics_walk_pkey: "one row, of the cell's own progress",
  api_key_hash_key: "184 random bits, and the key names its cell",
  audit_walk_pkey: "one row, of the cell's own progress",
  card_erasure_pkey: "the hash of 192 random bits, or of a connection's id",
  card_submission_pkey: "a fingerprint is of one merchant's card",
  ledger_walk_pkey: "one row, of the cell's own progress",
  payment_method_handle_hash_key: "the hash of 192 random bits",
  reconciliation_run_one_at_a_time: "each cell runs its own",
  recovery_link_pkey: "an agreement is of one merchant",
  renewal_pkey: "an agreement is of one merchant",
  renewal_try_agreement_id_renewal_ref_try_key: "an agreement is of one merchant",
  renewal_try_pkey: "an agreement is of one merchant",
  replica_mark_pkey: "one row, of the cell's own server",
};

it("needs no look into another cell for a unique rule", async () => {
  const { rows } = await client.query<{ name: string; columns: string[] }>(`
    SELECT regexp_replace(x.relname, '_rest_?', '') AS name,
      array_agg(coalesce(a.attname, '(expression)') ORDER BY k.place)::text[] AS columns
    FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid JOIN pg_class x ON x.oid = i.indexrelid,
      unnest(i.indkey) WITH ORDINALITY AS k (number, place) LEFT JOIN pg_attribute a ON a.attnum = k.number
    WHERE i.indisunique AND t.relkind IN ('r','p') AND (t.relnamespace = 'public'::regnamespace
        OR t.relname LIKE '%\\_rest' AND NOT EXISTS (SELECT FROM pg_inherits h WHERE h.inhrelid = i.indexrelid))
      AND (a.attrelid = t.oid OR k.number = 0) AND t.relname <> 'migration' GROUP BY 1 ORDER BY 1`);
  // Ids are random, and name their cell.
  const isOfItself = (columns: readonly string[]) => columns.includes("id");
  const wide = rows.filter(({ columns }) => !isOfItself(columns) && !columns.some((column) => within.includes(column)));
  expect(rows.length).toBeGreaterThan(30);
  expect(wide.map(({ name }) => name)).toEqual(Object.keys(otherwise));
});
