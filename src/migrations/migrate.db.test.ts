import { randomBytes } from "node:crypto";
import { Client } from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { testPostgresUrl } from "../dev/testing/postgres.ts";
import { migrate } from "./migrate.ts";
import type { SqlFile } from "./schema-history.ts";

const runtimeRole = `migrated_${randomBytes(4).toString("hex")}`;
const first: SqlFile = { name: "001-first", sql: "CREATE TABLE first (id int); INSERT INTO first VALUES (1);" };
const changed: SqlFile = { name: "002-changed", sql: "ALTER TABLE first ADD COLUMN word text;" };
const indexed: SqlFile = {
  name: "003-indexed",
  outsideTransaction: true,
  sql: ["DROP INDEX CONCURRENTLY IF EXISTS first_id", "CREATE INDEX CONCURRENTLY first_id ON first (id)"],
};

let server: Client;
let databases = 0;
let ownerUrl: string;
let someone: Client;
let reader: Client;
const open: Client[] = [];

async function connectTo(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  open.push(client);
  return client;
}

beforeAll(async () => {
  server = new Client({ connectionString: await testPostgresUrl() });
  await server.connect();
  await server.query(`CREATE ROLE ${runtimeRole}`);
});
afterAll(async () => {
  await Promise.all(open.map((client) => client.end()));
  for (let at = 1; at <= databases; at++) await server.query(`DROP DATABASE ${runtimeRole}_${at} WITH (FORCE)`);
  await server.query(`DROP ROLE ${runtimeRole}`);
  await server.end();
});
beforeEach(async () => {
  reported.length = 0;
  const name = `${runtimeRole}_${++databases}`;
  await server.query(`CREATE DATABASE ${name}`);
  ownerUrl = Object.assign(new URL(await testPostgresUrl()), { pathname: name }).href;
  someone = await connectTo(ownerUrl);
  reader = await connectTo(ownerUrl);
});

const reported: string[] = [];
const report = (line: string) => void reported.push(line);
const migrateTo = (...files: SqlFile[]) => migrate({ ownerUrl, kind: "environment", runtimeRole, report, files });
/** Reports whether a statement waits for a table, or for a transaction to end. */
const isSomebodyWaiting = async () => {
  const waiting = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
  return (await reader.query(waiting)).rowCount !== 0;
};

describe("migrate()", () => {
  it("lets one of several that begin at once do all of it, and the others find it done", async () => {
    const applied = await Promise.all([1, 2, 3].map(() => migrateTo(first, changed, indexed)));
    expect(applied.toSorted((left, right) => right.length - left.length)).toEqual([
      ["001-first", "002-changed", "003-indexed"],
      [],
      [],
    ]);
    expect(reported).toContain("Another process is migrating this database. Waiting for it to finish.");
  });

  it("lets readers by while it waits for a long transaction, and goes on when that ends", async () => {
    await migrateTo(first);
    await someone.query("BEGIN");
    await someone.query("SELECT FROM first");
    let isApplied = false;
    const applied = migrateTo(first, changed).finally(() => {
      isApplied = true;
    });
    await expect.poll(isSomebodyWaiting).toBe(true);
    // Behind a migration that waits without an end this would never be answered: the long transaction is still open.
    expect((await reader.query("SELECT id FROM first")).rows).toEqual([{ id: 1 }]);
    expect(isApplied).toBe(false);
    await someone.query("COMMIT");
    expect(await applied).toEqual(["002-changed"]);
  });

  it("builds an index beside writers, once the transactions before it have ended", async () => {
    await migrateTo(first);
    await someone.query("BEGIN");
    await someone.query("INSERT INTO first VALUES (2)");
    const applied = migrateTo(first, indexed);
    await expect.poll(isSomebodyWaiting).toBe(true);
    await reader.query("INSERT INTO first VALUES (3)");
    await someone.query("COMMIT");
    expect(await applied).toEqual(["003-indexed"]);
    const valid = "SELECT indisvalid FROM pg_index WHERE indexrelid = 'first_id'::regclass";
    expect((await reader.query(valid)).rows).toEqual([{ indisvalid: true }]);
  });

  it("keeps what was applied before a migration that failed, and nothing of that one", async () => {
    const broken: SqlFile = { name: "002-broken", sql: "ALTER TABLE first ADD COLUMN word text; SELECT 1 / 0;" };
    await expect(migrateTo(first, broken)).rejects.toThrow("division by zero");
    expect((await reader.query("SELECT name FROM migration")).rows).toEqual([{ name: "001-first" }]);
    expect(await migrateTo(first, changed)).toEqual(["002-changed"]);
  });
});
