/** Databases for tests: one private PostgreSQL a run, one migrated template a kind, one clone a test file. */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { Client, escapeIdentifier, escapeLiteral, Pool } from "pg";
import { inject } from "vitest";
import { startPrivatePostgres } from "../../demo/private-postgres.ts";
import { loadRecord } from "../../demo/server-record.ts";
import { migrate } from "../../migrations/migrate.ts";
import type { DatabaseKind } from "../../migrations/schema-history.ts";
import { Database } from "../../platform/database.ts";
import { keptInWorker } from "./kept-in-worker.ts";
import { onceInTestRun } from "./once-in-test-run.ts";
import { testStateFolder } from "./test-run.ts";
import { withClient } from "./with-client.ts";

export type TestDatabase = {
  /** Connects as the runtime role, with the product's permissions. Only it and the owner may connect. */
  readonly url: string;
  readonly ownerUrl: string;
  /** Ends every connection to it and removes it. The run's end does so too. */
  drop(): Promise<void>;
};

/** Returns the run's PostgreSQL as its owner, who may create databases. Started on the first call. */
export async function testPostgresUrl(): Promise<string> {
  return onceInTestRun("postgres", async () => {
    return (await startPrivatePostgres({ stateFolder: testStateFolder, dataName: dataName(), forTests: true }))
      .ownerUrl;
  });
}

function dataName(): string {
  return `${inject("testRunName")}-postgres`;
}

/** The folder with the files of the run's PostgreSQL, which has started. */
export function testPostgresFolder(): string {
  const record = loadRecord(join(testStateFolder, `${dataName()}.json`));
  if (record === undefined) throw new Error("the PostgreSQL of this run has not started");
  return record.dataFolder;
}

/** Creates a database of `kind` with all its migrations and no rows, and a runtime role that reaches no other one. */
export async function createTestDatabase(kind: DatabaseKind): Promise<TestDatabase> {
  const serverUrl = await testPostgresUrl();
  const template = await onceInTestRun(`template-${kind}`, () => createTemplate(serverUrl, kind));
  const name = `${kind}_${randomBytes(6).toString("hex")}`;
  const password = randomBytes(12).toString("hex");
  const { client } = await keptInWorker("postgres-owner", () => connectAsOwner(serverUrl));
  await client.query(`CREATE ROLE ${name} LOGIN PASSWORD ${escapeLiteral(password)} IN ROLE ${runtimeRoleOf(kind)}`);
  // The files as they are, instead of a record in the write-ahead log for each block.
  await client.query(`CREATE DATABASE ${name} TEMPLATE ${escapeIdentifier(template)} STRATEGY file_copy`);
  await client.query(`REVOKE ALL ON DATABASE ${name} FROM PUBLIC`);
  await client.query(`GRANT CONNECT ON DATABASE ${name} TO ${name}`);
  return {
    url: urlOf(serverUrl, { database: name, user: name, password }),
    ownerUrl: urlOf(serverUrl, { database: name }),
    async drop() {
      await connectionsLeft(client, name);
      await client.query(`DROP DATABASE ${name} WITH (FORCE)`);
      await client.query(`DROP ROLE ${name}`);
    },
  };
}

/** A worker's own connection: PostgreSQL's process for another one costs as much CPU time as the copy of a database. */
async function connectAsOwner(serverUrl: string): Promise<{ client: Client; close(): Promise<void> }> {
  const client = new Client({ connectionString: serverUrl });
  await client.connect();
  return { client, close: () => client.end() };
}

/** Creates a database of an environment, and connects its owner and the product to it. */
export async function openTestDatabase() {
  const { url, ownerUrl, drop } = await createTestDatabase("environment");
  const owner = new Client({ connectionString: ownerUrl });
  await owner.connect();
  const database = new Database(new Pool({ connectionString: url, max: 4, pipeline: true }));
  const close = async () => {
    await Promise.all([owner.end(), database.pool.end()]);
    await drop();
  };
  return { url, owner, database, close };
}

// Half a second in all; remaining connections are then cut.
const leaveAttempts = 50;

/** A pool's `end` resolves while its sockets still close, and one that is cut meanwhile fails the whole test run. */
async function connectionsLeft(client: Client, database: string): Promise<void> {
  for (let attempt = 0; attempt < leaveAttempts; attempt++) {
    const { rowCount } = await client.query("SELECT 1 FROM pg_stat_activity WHERE datname = $1", [database]);
    if (rowCount === 0) return;
    await client.query("SELECT pg_sleep(0.01)");
  }
}

/** The role that migrations grant to; each test database's own role is a member of it. */
function runtimeRoleOf(kind: DatabaseKind): string {
  return `${kind}_runtime`;
}

async function createTemplate(serverUrl: string, kind: DatabaseKind): Promise<string> {
  const template = `${kind}_template`;
  await withClient(serverUrl, async (client) => {
    await client.query(`CREATE ROLE ${runtimeRoleOf(kind)}`);
    await client.query(`CREATE DATABASE ${template}`);
  });
  await migrate({ ownerUrl: urlOf(serverUrl, { database: template }), kind, runtimeRole: runtimeRoleOf(kind) });
  return template;
}

function urlOf(serverUrl: string, change: { database: string; user?: string; password?: string }): string {
  const url = new URL(serverUrl);
  url.pathname = change.database;
  url.username = change.user ?? url.username;
  url.password = change.password ?? url.password;
  return url.href;
}
