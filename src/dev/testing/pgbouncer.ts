/** A PgBouncer in transaction mode on loopback: Debian's (apt-get install pgbouncer). */
import { chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { startServer, stopServer } from "../../demo/detached-server.ts";
import { freePort } from "../../demo/free-port.ts";
import { parseDatabaseAddress } from "../../platform/database-address.ts";

// It logs in to PostgreSQL with the password that its client uses for it.
const adminPassword = "of-a-pooler-on-loopback";

export type PgBouncer = {
  /** Returns the address of the same database and role through the pooler. */
  pooledUrl(url: string): string;
  /** Runs one of its SHOW commands, such as POOLS. */
  show(what: string): Promise<Record<string, string>[]>;
  stop(): Promise<void>;
};

/**
 * Starts it before these databases, each of which it enters by `serverConnectionsMax` connections at most. As root it
 * runs as the owner of `postgresDataFolder`.
 */
export async function startPgBouncer(options: {
  logFile: string;
  postgresDataFolder: string;
  urls: readonly string[];
  serverConnectionsMax: number;
}): Promise<PgBouncer> {
  // A folder that its own user may enter.
  const folder = mkdtempSync(join(tmpdir(), "switchyard-pgbouncer-"));
  const port = await freePort();
  const entries = options.urls.map((url) => parseDatabaseAddress(url)!);
  const databases = entries.map((at) => `${at.database} = host=${at.host} port=${at.port} dbname=${at.database}`);
  const users = [
    ...entries.map(({ user, password }) => ({ user, password })),
    { user: "admin", password: adminPassword },
  ];
  const files = {
    "users.txt": users.map(({ user, password }) => `"${user}" "${password}"`),
    "pgbouncer.ini": [
      "[databases]",
      ...databases,
      "[pgbouncer]",
      "pool_mode = transaction",
      `default_pool_size = ${options.serverConnectionsMax}`,
      "max_client_conn = 1000",
      "listen_addr = 127.0.0.1",
      `listen_port = ${port}`,
      "unix_socket_dir =",
      "auth_type = scram-sha-256",
      `auth_file = ${join(folder, "users.txt")}`,
      "admin_users = admin",
    ],
  };
  const { uid, gid } = statSync(options.postgresDataFolder);
  for (const [name, lines] of Object.entries(files)) {
    writeFileSync(join(folder, name), `${lines.join("\n")}\n`, { mode: 0o600 });
    chownSync(join(folder, name), uid, gid);
  }
  chownSync(folder, uid, gid);
  const show = async (what: string) => {
    const client = new Client({
      host: "127.0.0.1",
      port,
      user: "admin",
      password: adminPassword,
      database: "pgbouncer",
    });
    await client.connect();
    const { rows } = await client.query(`SHOW ${what}`).finally(() => client.end());
    return rows;
  };
  const mark = await startServer({
    name: "PgBouncer",
    command: "pgbouncer",
    args: [join(folder, "pgbouncer.ini")],
    cwd: folder,
    runAs: process.getuid?.() === 0 ? { uid, gid } : undefined,
    logFile: options.logFile,
    stopSignal: "SIGINT",
    onSpawn: () => {},
    probe: async () => void (await show("VERSION")),
  });
  return {
    pooledUrl: (url) => Object.assign(new URL(url), { host: `127.0.0.1:${port}` }).href,
    show,
    async stop() {
      await stopServer(mark, "SIGINT");
      rmSync(folder, { recursive: true });
    },
  };
}
