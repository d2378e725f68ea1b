/** What every benchmark runs on: a durable PostgreSQL with databases of its own, and one merchant in each. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, Pool } from "pg";
import { generateKey, recordKey } from "../accounts/api-keys.ts";
import { openEnvironmentTo } from "../accounts/issue-keys.ts";
import { startPrivatePostgres } from "../demo/private-postgres.ts";
import { migrate } from "../migrations/migrate.ts";
import { provision } from "../migrations/provision.ts";
import type { DatabaseKind } from "../migrations/schema-history.ts";
import { Database } from "../platform/database.ts";
import { systemEntropy } from "../platform/entropy.ts";
import { generateKeyFile } from "../server-keys.ts";

/** Begins the keys of the bed. */
export const brand = "switchyard";

/** Close it at the run's end; nothing of it stays. */
export type BenchBed = {
  /** Makes an empty, migrated database; its runtime role's address. */
  makeDatabase(name: string, kind: DatabaseKind): Promise<string>;
  /** The same database as its owner, whom no guard holds. */
  ownerUrlOf(name: string): string;
  /** Gives the bed's merchant the bed's key in an environment's database. */
  openTo(databaseUrl: string): Promise<void>;
  readonly merchantId: string;
  readonly secretKey: string;
  readonly keysFile: string;
  /** For files of the run's own. */
  readonly folder: string;
  /** PostgreSQL's version, and the settings that make a commit durable. */
  readonly postgres: { readonly version: string; readonly durability: Readonly<Record<string, string>> };
  close(): Promise<void>;
};

const durabilitySettings = ["fsync", "synchronous_commit", "full_page_writes"];

/** Starts it on files, with PostgreSQL's own defaults. Throws when a commit would not be durable. */
export async function startBed(): Promise<BenchBed> {
  const folder = await mkdtemp(join(tmpdir(), "switchyard-bench-"));
  const server = await startPrivatePostgres({ stateFolder: folder, dataName: "postgres" });
  const close = async () => {
    await server.stop({ removeData: true });
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const keysFile = join(folder, "keys-test.json");
    await writeFile(keysFile, generateKeyFile("test"), { mode: 0o600 });
    const databases = new Databases(server.ownerUrl);
    const merchantId = systemEntropy.uuid();
    const secret = generateKey(systemEntropy, { brand, environment: "test", kind: "secret" });
    return {
      makeDatabase: (name, kind) => databases.make(name, kind),
      ownerUrlOf: (name) => withParts(server.ownerUrl, { database: `bench_${name}` }),
      openTo: (databaseUrl) =>
        withPool(databaseUrl, async (database) =>
          database.transaction(async (tx) => {
            await openEnvironmentTo(tx, { entropy: systemEntropy, brand, environment: "test" }, merchantId);
            await recordKey(tx, { id: systemEntropy.uuid(), merchantId, kind: "secret", secret });
          }),
        ),
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

/** Databases of one kind are copies of one that was migrated, and have one role. */
class Databases {
  readonly #ownerUrl: string;
  readonly #password = Buffer.from(systemEntropy.randomBytes(18)).toString("hex");
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

/** Version and durability of a running server. Throws when a commit would not be durable. */
export async function describePostgres(ownerUrl: string): Promise<BenchBed["postgres"]> {
  return withClient(ownerUrl, async (client) => {
    const show = async (name: string) => String(Object.values((await client.query(`SHOW ${name}`)).rows[0])[0]);
    const durability: Record<string, string> = {};
    for (const name of durabilitySettings) durability[name] = await show(name);
    const weak = durabilitySettings.filter((name) => durability[name] !== "on");
    if (weak.length > 0) throw new Error(`commits would not be durable: ${weak.join(", ")} not on`);
    return { version: await show("server_version"), durability };
  });
}

async function withClient<Result>(url: string, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
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
