/** Runs a private PostgreSQL on loopback, for the demo and the tests. Knows nothing of the databases in it. */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { chown, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client, escapeLiteral } from "pg";
import { CannotStart, type ServerProgram, startServer, stopServer } from "./detached-server.ts";
import { freePort, requirePort } from "./free-port.ts";
import { type PostgresHome, preparePostgresHome } from "./postgres-home.ts";
import { clearOrphan, discardServer, loadRecord, type ServerRecord, saveRecord, startedByUs } from "./server-record.ts";

const run = promisify(execFile);

/** A running private PostgreSQL. `ownerUrl` is of a role with CREATEDB and CREATEROLE that is no superuser. */
export type PrivatePostgres = {
  readonly ownerUrl: string;
  /** The folder of its Unix-domain socket, which costs less than loopback; undefined if it has none. */
  readonly socketFolder: string | undefined;
  readonly pid: number;
  readonly dataFolder: string;
  /** Stops the server cleanly; `removeData` removes all of its data. */
  stop(options?: { removeData?: boolean }): Promise<void>;
};

const superuser = "postgres";
const owner = "switchyard_owner";
// Fast shutdown: ends sessions, then writes a checkpoint (PostgreSQL 18, 18.5 "Shutting Down the Server").
const stopSignal = "SIGINT";
// The path of a Unix-domain socket has 103 bytes on macOS, 107 on Linux.
const socketPathMax = 103;
// Every role and its pools on one machine, with room for a person's psql.
const connectionsMax = 200;

/**
 * Starts the PostgreSQL named `dataName` and creates it on the first call; port, passwords and data survive a stop.
 * `forTests` trades durability for speed. Throws CannotStart if it is already running, if its port is in use, or if its
 * data cannot be accessed.
 */
export async function startPrivatePostgres(options: {
  stateFolder: string;
  dataName: string;
  forTests?: boolean;
  /** The port of the first start; any free port by default. */
  port?: number;
}): Promise<PrivatePostgres> {
  const { stateFolder, dataName, forTests = false } = options;
  const recordFile = join(stateFolder, `${dataName}.json`);
  const home = await preparePostgresHome({ stateFolder, dataName });
  const known = loadRecord(recordFile);
  if (known !== undefined) await clearOrphan("PostgreSQL", known, stopSignal);
  const passwords = { [superuser]: newPassword(), [owner]: newPassword() };
  const record = known ?? { dataFolder: home.dataFolder, port: options.port ?? (await freePort()), passwords };
  await requirePort({ port: record.port, owner: "PostgreSQL", recordFile });
  await prepareData({ home, recordFile, record, isNew: known === undefined });
  const socketPath = join(home.dataFolder, `.s.PGSQL.${record.port}`);
  const socketFolder = forTests && Buffer.byteLength(socketPath) <= socketPathMax ? home.dataFolder : undefined;
  const mark = await startServer({
    ...programOf({ home, port: record.port, forTests, socketFolder }),
    logFile: join(stateFolder, `${dataName}.log`),
    onSpawn: (server) => saveRecord(recordFile, startedByUs(record, server)),
    probe: () => asSuperuser(record, async () => undefined),
  });
  await asSuperuser(record, (client) => prepareRoles(client, { record, forTests }));
  return {
    ownerUrl: urlOf(record, owner),
    socketFolder,
    pid: mark.pid,
    dataFolder: home.dataFolder,
    async stop({ removeData = false } = {}) {
      await stopServer(mark, stopSignal);
      if (removeData) return discardServer(recordFile, stopSignal);
      saveRecord(recordFile, { ...record, server: undefined, starter: undefined });
    },
  };
}

function newPassword(): string {
  return randomBytes(24).toString("base64url");
}

function urlOf(record: ServerRecord, role: string): string {
  return `postgres://${role}:${record.passwords[role]}@127.0.0.1:${record.port}/postgres`;
}

function programOf(options: { home: PostgresHome; port: number; forTests: boolean; socketFolder: string | undefined }) {
  const { home, port, forTests, socketFolder = "" } = options;
  const settings = {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: socketFolder,
    port,
    max_connections: connectionsMax,
    timezone: "UTC",
    log_timezone: "UTC",
    // Short statements only: compiling one costs more than running it.
    jit: "off",
    ...(forTests && { fsync: "off", synchronous_commit: "off", full_page_writes: "off", scram_iterations: 1 }),
    // A test's tables are small and soon dropped, and in memory: vacuuming them and reading through worker processes is a
    // tenth of the server's CPU time.
    ...(forTests && { autovacuum: "off", io_method: "sync" }),
  };
  return {
    name: "PostgreSQL",
    command: join(home.binFolder, "postgres"),
    args: ["-D", home.dataFolder, ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])],
    cwd: home.dataFolder,
    runAs: home.runAs,
    stopSignal,
  } satisfies Partial<ServerProgram>;
}

/**
 * Creates the data folder if it is missing. It is built under another name and renamed, so that an incomplete one is
 * never started.
 */
async function prepareData(options: {
  home: PostgresHome;
  recordFile: string;
  record: ServerRecord;
  isNew: boolean;
}): Promise<void> {
  const { home, recordFile, record, isNew } = options;
  const { binFolder, dataFolder, runAs } = home;
  if (existsSync(dataFolder)) {
    if (!isNew) return;
    throw new CannotStart(
      `${dataFolder} has data of an earlier start, but ${recordFile}, which contained its passwords, is missing. ` +
        "Restore that file, or remove the folder to begin with an empty PostgreSQL.",
    );
  }
  saveRecord(recordFile, record);
  const fresh = `${dataFolder}.new`;
  const passwordFile = `${dataFolder}.password`;
  await rm(fresh, { recursive: true, force: true });
  await writeFile(passwordFile, record.passwords[superuser] ?? "", { mode: 0o600 });
  if (runAs !== undefined) await chown(passwordFile, runAs.uid, runAs.gid);
  const how = ["--locale=C", "--encoding=UTF8", "--auth=scram-sha-256", "--no-instructions", "--no-sync"];
  const args = ["-D", fresh, "-U", superuser, `--pwfile=${passwordFile}`, ...how];
  try {
    await run(join(binFolder, "initdb"), args, { cwd: join(dataFolder, ".."), ...runAs });
  } catch (error) {
    throw new CannotStart(`PostgreSQL could not create its data folder. ${(error as Error).message}`, { cause: error });
  } finally {
    await rm(passwordFile, { force: true });
  }
  await rename(fresh, dataFolder);
}

/** Denies everyone but the owner access to the databases that come with the server. Safe to repeat. */
async function prepareRoles(
  client: Client,
  { record, forTests }: { record: ServerRecord; forTests: boolean },
): Promise<void> {
  const known = await client.query("SELECT 1 FROM pg_roles WHERE rolname = $1", [owner]);
  const verb = known.rowCount === 0 ? "CREATE" : "ALTER";
  await client.query(
    `${verb} ROLE ${owner} LOGIN CREATEDB CREATEROLE PASSWORD ${escapeLiteral(record.passwords[owner] ?? "")}`,
  );
  // Lets the owner drop a database that a test or a crashed role is still connected to.
  await client.query(`GRANT pg_signal_backend TO ${owner}`);
  // Lets a simulation restore rows past their triggers, as a restore does.
  if (forTests) await client.query(`GRANT SET ON PARAMETER session_replication_role TO ${owner}`);
  await client.query("REVOKE ALL ON DATABASE postgres, template1 FROM PUBLIC");
  await client.query(`GRANT CONNECT ON DATABASE postgres, template1 TO ${owner}`);
}

async function asSuperuser<Result>(record: ServerRecord, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: urlOf(record, superuser) });
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end();
  }
}
