/** Reads everything that a run of the demo leaves behind, as Latin-1: logs, databases, NATS, metrics, processes. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { Client, escapeIdentifier } from "pg";
import { addressesFrom } from "../../demo/ports.ts";
import type { TestDemo } from "./demo.fixture.ts";

export type Leftover = { readonly where: string; readonly text: string };

export function readLogs(demo: TestDemo): Leftover[] {
  return filesUnder(demo.stateFolder).filter(({ where }) => where.endsWith(".log"));
}

export function readNatsFiles(demo: TestDemo): Leftover[] {
  return filesUnder(join(demo.stateFolder, "nats", "jetstream"));
}

/** Reads the write-ahead log, from which replicas and backups are made. */
export function readWriteAheadLog(demo: TestDemo): Leftover[] {
  return filesUnder(join(demo.postgresDataFolder, "pg_wal"));
}

/** Reads every other file of PostgreSQL: deleted rows remain there until they are overwritten. */
export function readDatabaseFiles(demo: TestDemo): Leftover[] {
  return filesUnder(demo.postgresDataFolder).filter(({ where }) => !where.includes("/pg_wal/"));
}

const databases = ["switchyard_test", "switchyard_live", "switchyard_accounts", "switchyard_vault"];

/** Reads every row of every table of the four databases, or of some of them, as their owner. */
export async function dumpDatabases(demo: TestDemo, names: readonly string[] = databases): Promise<Leftover[]> {
  const leftovers: Leftover[] = [];
  for (const database of names) {
    const url = new URL(demo.postgresUrl);
    url.pathname = `/${database}`;
    const client = new Client({ connectionString: url.href });
    await client.connect();
    const { rows: tables } = await client.query<{ schemaname: string; tablename: string }>(
      "SELECT schemaname, tablename FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')",
    );
    for (const { schemaname, tablename } of tables) {
      const name = `${escapeIdentifier(schemaname)}.${escapeIdentifier(tablename)}`;
      const { rows } = await client.query<{ row: string }>(`SELECT kept::text AS row FROM ${name} AS kept`);
      leftovers.push({ where: `${database} ${name}`, text: rows.map(({ row }) => row).join("\n") });
    }
    await client.end();
  }
  return leftovers;
}

/** Reads the metrics of the roles and the answers without a key. */
export async function readOpenAddresses(demo: TestDemo): Promise<Leftover[]> {
  const { metricsUrl, connectOrigin, vaultOrigin } = demo.file;
  const { edgeMetrics, vaultMetrics } = addressesFrom(Number(new URL(connectOrigin).port)).ports;
  const metrics = [edgeMetrics, vaultMetrics].map((port) => `http://127.0.0.1:${port}/metrics`);
  const open = [`${connectOrigin}/readyz`, `${connectOrigin}/openapi.json`, `${vaultOrigin}/healthz`];
  const addresses = [metricsUrl, ...metrics, ...open];
  return Promise.all(addresses.map(async (where) => ({ where, text: await (await fetch(where)).text() })));
}

/** Reads command lines and environments of every process of the demo, which others on the machine may read. */
export function readProcesses(demo: TestDemo): Leftover[] {
  return Object.entries(demo.file.pids).flatMap(([name, pid]) =>
    ["cmdline", "environ"].flatMap((part) => {
      const text = readOrNothing(`/proc/${pid}/${part}`);
      return text === undefined ? [] : [{ where: `${part} of ${name}`, text }];
    }),
  );
}

function filesUnder(folder: string): Leftover[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).flatMap((name) => {
    const where = join(folder, name);
    const text = readOrNothing(where);
    return text === undefined ? [] : [{ where, text }];
  });
}

/** Servers remove files while they are listed. */
function readOrNothing(path: string): string | undefined {
  try {
    return statSync(path).isFile() ? readFileSync(path, "latin1") : undefined;
  } catch {
    return undefined;
  }
}
