/** A streaming replica of a private PostgreSQL, made of a copy of its files, for tests. */
import { execFile } from "node:child_process";
import { appendFile, chown, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client } from "pg";
import { startServer, stopServer } from "../../demo/detached-server.ts";
import { freePort } from "../../demo/free-port.ts";
import { type PostgresHome, preparePostgresHome } from "../../demo/postgres-home.ts";
import { type PrivatePostgres, startPrivatePostgres } from "../../demo/private-postgres.ts";
import { loadRecord, saveRecord, startedByUs } from "../../demo/server-record.ts";

const run = promisify(execFile);
const stopSignal = "SIGINT";

export type PostgresPair = {
  readonly primary: PrivatePostgres;
  /** The same database and role at the replica. */
  replicaUrl(url: string): string;
  /** Hides later writes on the replica until `replay`; resolves when that takes effect. */
  pauseReplay(): Promise<void>;
  replay(): Promise<void>;
  /** Detaches from the primary: later commits there are lost to it. */
  detach(): Promise<void>;
  /** Makes it a primary. The other one must be stopped. */
  promote(): Promise<void>;
  stopReplica(): Promise<void>;
  stop(): Promise<void>;
};

/** Writes TLS files at the paths and with the permissions that PostgreSQL requires. */
async function writeTlsFiles(
  { dataFolder, runAs }: PostgresHome,
  { cert, key }: { readonly cert: string; readonly key: string },
): Promise<void> {
  for (const [name, text] of Object.entries({ "server.crt": cert, "server.key": key })) {
    const file = join(dataFolder, name);
    await writeFile(file, text, { mode: 0o600 });
    if (runAs !== undefined) await chown(file, runAs.uid, runAs.gid);
  }
}

async function stopReceiving(asSuperuser: (sql: string) => Promise<Record<string, unknown>[]>): Promise<void> {
  await asSuperuser("ALTER SYSTEM SET primary_conninfo = ''");
  await asSuperuser("SELECT pg_reload_conf()");
  while ((await asSuperuser("SELECT FROM pg_stat_wal_receiver")).length > 0);
}

/** Starts both, on records that the end of the test run knows. */
export async function startPostgresPair(options: {
  stateFolder: string;
  dataName: string;
  /** The replica's, for TLS. */
  certificate: { readonly cert: string; readonly key: string };
}): Promise<PostgresPair> {
  const { stateFolder, dataName } = options;
  // Its files are whole when it is stopped, so that they can be copied as they are.
  const first = await startPrivatePostgres({ ...options, forTests: true });
  await first.stop();
  const home = await preparePostgresHome({ stateFolder, dataName: `${dataName}-replica` });
  await run("cp", ["-a", first.dataFolder, home.dataFolder]);
  const primary = await startPrivatePostgres({ ...options, forTests: true });
  const record = loadRecord(join(stateFolder, `${dataName}.json`))!;
  const port = await freePort();
  const superuser = { host: "127.0.0.1", user: "postgres", password: record.passwords.postgres!, database: "postgres" };
  const source = `host=127.0.0.1 port=${record.port} user=postgres password=${superuser.password}`;
  await writeFile(join(home.dataFolder, "standby.signal"), "");
  await writeTlsFiles(home, options.certificate);
  await appendFile(join(home.dataFolder, "postgresql.auto.conf"), `primary_conninfo = '${source}'\n`);
  const asSuperuser = async (sql: string): Promise<Record<string, unknown>[]> => {
    const client = new Client({ ...superuser, port });
    await client.connect();
    const { rows } = await client.query(sql).finally(() => client.end());
    return rows;
  };
  const recordFile = join(stateFolder, `${dataName}-replica.json`);
  const settings = {
    port,
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    max_connections: 200,
    timezone: "UTC",
    ssl: "on",
  };
  const mark = await startServer({
    name: "PostgreSQL replica",
    command: join(home.binFolder, "postgres"),
    args: ["-D", home.dataFolder, ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])],
    cwd: home.dataFolder,
    runAs: home.runAs,
    logFile: join(stateFolder, `${dataName}-replica.log`),
    stopSignal,
    onSpawn: (server) =>
      saveRecord(recordFile, startedByUs({ dataFolder: home.dataFolder, port, passwords: {} }, server)),
    probe: async () => void (await asSuperuser("SELECT")),
  });
  const stopReplica = () => stopServer(mark, stopSignal);
  return {
    primary,
    replicaUrl: (url) => Object.assign(new URL(url), { port: String(port) }).href,
    async pauseReplay() {
      await asSuperuser("SELECT pg_wal_replay_pause()");
      for (;;) {
        const [state] = await asSuperuser("SELECT pg_get_wal_replay_pause_state() AS is");
        if (state?.is === "paused") return;
      }
    },
    detach: () => stopReceiving(asSuperuser),
    promote: async () => void (await asSuperuser("SELECT pg_promote()")),
    replay: async () => void (await asSuperuser("SELECT pg_wal_replay_resume()")),
    stopReplica,
    async stop() {
      await stopReplica();
      await primary.stop({ removeData: true });
      await rm(home.dataFolder, { recursive: true });
      await rm(recordFile);
    },
  };
}
