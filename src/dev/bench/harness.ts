/** The harness of every benchmark: a durable PostgreSQL with its own databases, and one merchant in each. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Pool } from "pg";
import { generateKey, recordKey } from "../../accounts/api-keys.ts";
import { openEnvironmentTo } from "../../accounts/issue-keys.ts";
import { generateKeyFile } from "../../config/server-keys.ts";
import { removePostgresHome } from "../../demo/postgres-home.ts";
import { startPrivatePostgres } from "../../demo/private-postgres.ts";
import { migrate } from "../../migrations/migrate.ts";
import { provision } from "../../migrations/provision.ts";
import type { DatabaseKind } from "../../migrations/schema-history.ts";
import { Database } from "../../platform/database.ts";
import { systemRuntime } from "../../platform/runtime.ts";
import { withClient } from "../testing/with-client.ts";

/** The prefix of the harness's keys. */
export const brand = "switchyard";

/** Close it at the end of the run, which removes everything. */
export type BenchHarness = {
  /** Creates an empty, migrated database; returns the address of its runtime role. */
  makeDatabase(name: string, kind: DatabaseKind): Promise<string>;
  /** Returns the address of the same database as its owner, who bypasses the guards. */
  ownerUrlOf(name: string): string;
  /** Installs the harness's key for its merchant in an environment's database. */
  openTo(databaseUrl: string): Promise<void>;
  /** Makes a separate database for a peer, whose statements insert sessions past our functions and guards. */
  makePeerDatabase(name: string): Promise<string>;
  readonly merchantId: string;
  readonly secretKey: string;
  readonly keysFile: string;
  readonly folder: string;
  /** PostgreSQL's version, and the settings that make a commit durable. */
  readonly postgres: { readonly version: string; readonly durability: Readonly<Record<string, string>> };
  close(): Promise<void>;
};

const durabilitySettings = ["fsync", "synchronous_commit", "full_page_writes"];

/** Starts PostgreSQL on files, with its own defaults. Throws if a commit would not be durable. */
export async function startHarness(): Promise<BenchHarness> {
  const folder = await mkdtemp(join(tmpdir(), "switchyard-bench-"));
  const server = await startPrivatePostgres({ stateFolder: folder, dataName: "postgres" });
  const close = async () => {
    await server.stop({ removeData: true });
    await removePostgresHome(folder);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const keysFile = join(folder, "keys-test.json");
    await writeFile(keysFile, generateKeyFile("test"), { mode: 0o600 });
    const databases = new Databases(server.ownerUrl);
    const merchantId = systemRuntime.uuid();
    const secret = generateKey(systemRuntime, { brand, environment: "test", kind: "secret" });
    const ownerUrlOf = (name: string) => withParts(server.ownerUrl, { database: `bench_${name}` });
    const openTo = (databaseUrl: string) =>
      withPool(databaseUrl, async (database) =>
        database.transaction(async (tx) => {
          await openEnvironmentTo(tx, { runtime: systemRuntime, brand, environment: "test" }, merchantId);
          await recordKey(tx, { id: systemRuntime.uuid(), merchantId, kind: "secret", secret });
        }),
      );
    return {
      makeDatabase: (name, kind) => databases.make(name, kind),
      ownerUrlOf,
      openTo,
      async makePeerDatabase(name) {
        const databaseUrl = await databases.make(name, "environment");
        await openTo(databaseUrl);
        await withClient(ownerUrlOf(name), (client) => client.query(openSessionsTo(new URL(databaseUrl).username)));
        return databaseUrl;
      },
      merchantId,
      secretKey: secret.expose(),
      keysFile,
      folder,
      postgres: await describePostgres(server.ownerUrl),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

const openSessionsTo = (role: string) => `
  GRANT INSERT ON payment_session TO ${role};
  DO $$
  DECLARE leaf regclass;
  BEGIN
    FOR leaf IN SELECT relid FROM pg_partition_tree('payment_session') WHERE isleaf LOOP
      EXECUTE format('ALTER TABLE %s DISABLE TRIGGER USER', leaf);
    END LOOP;
  END $$`;

/** Databases of one kind are copies of one migrated database, and share one role. */
class Databases {
  readonly #ownerUrl: string;
  readonly #password = Buffer.from(systemRuntime.randomBytes(18)).toString("hex");
  readonly #templates = new Set<DatabaseKind>();

  constructor(ownerUrl: string) {
    this.#ownerUrl = ownerUrl;
  }

  async make(name: string, kind: DatabaseKind): Promise<string> {
    const template = `bench_template_${kind}`;
    if (!this.#templates.has(kind)) await this.#makeTemplate(template, kind);
    await withClient(this.#ownerUrl, async (client) => {
      await client.query(`CREATE DATABASE bench_${name} TEMPLATE ${template}`);
      await client.query(`GRANT CONNECT ON DATABASE bench_${name} TO ${template}`);
    });
    return withParts(this.#ownerUrl, { database: `bench_${name}`, user: template, password: this.#password });
  }

  async #makeTemplate(template: string, kind: DatabaseKind): Promise<void> {
    await provision(this.#ownerUrl, [{ database: template, role: template, password: this.#password }]);
    await migrate({ ownerUrl: withParts(this.#ownerUrl, { database: template }), kind, runtimeRole: template });
    this.#templates.add(kind);
  }
}

/** Reads version and durability of a running server. Throws if a commit would not be durable. */
export async function describePostgres(ownerUrl: string): Promise<BenchHarness["postgres"]> {
  return withClient(ownerUrl, async (client) => {
    const show = async (name: string) => String(Object.values((await client.query(`SHOW ${name}`)).rows[0])[0]);
    const durability: Record<string, string> = {};
    for (const name of durabilitySettings) durability[name] = await show(name);
    const weak = durabilitySettings.filter((name) => durability[name] !== "on");
    if (weak.length > 0) throw new Error(`commits would not be durable: ${weak.join(", ")} not on`);
    return { version: await show("server_version"), durability };
  });
}

async function withPool(url: string, work: (database: Database) => Promise<void>): Promise<void> {
  const pool = new Pool({ connectionString: url, max: 1, pipeline: true });
  try {
    await work(new Database(pool));
  } finally {
    await pool.end();
  }
}

function withParts(url: string, parts: { database: string; user?: string; password?: string }): string {
  return Object.assign(new URL(url), {
    pathname: `/${parts.database}`,
    ...(parts.user !== undefined && { username: parts.user, password: parts.password }),
  }).href;
}
