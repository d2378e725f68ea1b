/** Runs a private nats-server on loopback: JetStream, one account for each environment. Creates no streams. */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { enter, type NatsLogin } from "../platform/nats.ts";
import { CannotStart, startServer, stopServer } from "./detached-server.ts";
import { freePort, requirePort } from "./free-port.ts";
import { clearOrphan, discardServer, loadRecord, type ServerRecord, saveRecord, startedByUs } from "./server-record.ts";

const run = promisify(execFile);

// On loopback, so without TLS.
type PlainLogin = Omit<NatsLogin, "tls">;

export type PrivateNats = {
  /** The login of each environment's account; it gives no access to the other's subjects or streams. */
  readonly urls: { readonly test: PlainLogin; readonly live: PlainLogin };
  readonly pid: number;
  /** Stops the server; `removeData` removes all of its data. Messages survive a stop otherwise. */
  stop(options?: { removeData?: boolean }): Promise<void>;
};

// nats-server 2.9.10 finishes its writes on SIGTERM and then exits with 1; we wait for its end and ignore the code.
const stopSignal = "SIGTERM";
// A stream is limited to 1 GiB; the account has room for a second version of it.
const accountFileBytesMax = 2 * 1024 ** 3;
// The stream and its next version, and consumers of internal services besides ours.
const accountStreamsMax = 4;
const accountConsumersMax = 64;

/**
 * Starts the nats-server named `dataName` (default "nats") and creates it on the first call; port, passwords and
 * messages survive a stop. Throws CannotStart if there is no nats-server, if it is already running, or if its port is
 * in use.
 */
export async function startPrivateNats(options: {
  stateFolder: string;
  dataName?: string;
  /** The port of the first start; any free port by default. */
  port?: number;
}): Promise<PrivateNats> {
  const stateFolder = resolve(options.stateFolder);
  const dataName = options.dataName ?? "nats";
  const recordFile = join(stateFolder, `${dataName}.json`);
  const dataFolder = join(stateFolder, dataName);
  const command = await findNatsServer();
  const known = loadRecord(recordFile);
  if (known !== undefined) await clearOrphan("nats-server", known, stopSignal);
  const passwords = { test: newPassword(), live: newPassword() };
  const record = known ?? { dataFolder, port: options.port ?? (await freePort()), passwords };
  await requirePort({ port: record.port, owner: "nats-server", recordFile });
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
  const configFile = join(dataFolder, "nats.conf");
  writeFileSync(configFile, configOf(record, join(dataFolder, "jetstream")), { mode: 0o600 });
  const urls = { test: loginOf(record, "test"), live: loginOf(record, "live") };
  const mark = await startServer({
    name: "nats-server",
    command,
    args: ["-c", configFile],
    cwd: dataFolder,
    logFile: join(stateFolder, `${dataName}.log`),
    stopSignal,
    onSpawn: (server) => saveRecord(recordFile, startedByUs(record, server)),
    probe: () => answersJetStream(urls.live),
  });
  return {
    urls,
    pid: mark.pid,
    async stop({ removeData = false } = {}) {
      await stopServer(mark, stopSignal);
      if (removeData) return discardServer(recordFile, stopSignal);
      saveRecord(recordFile, { ...record, server: undefined, starter: undefined });
    },
  };
}

/** Returns the nats-server of the PATH, else the one that set-up fetched. Throws CannotStart without one. */
export async function findNatsServer(): Promise<string> {
  const fetched = join(import.meta.dirname, "..", "..", ".switchyard", "bin", "nats-server");
  for (const command of ["nats-server", fetched]) {
    const isThere = await run(command, ["--version"]).catch(() => undefined);
    if (isThere !== undefined) return command;
  }
  throw new CannotStart(
    "nats-server is not on the PATH. Install it (Debian: apt-get install nats-server), run " +
      '"node src/dev/set-up/set-up.mjs", or use your own server: npm start -- --nats URL.',
  );
}

function newPassword(): string {
  return randomBytes(24).toString("base64url");
}

function loginOf(record: ServerRecord, environment: "test" | "live"): PlainLogin {
  return { servers: `127.0.0.1:${record.port}`, user: environment, pass: record.passwords[environment] ?? "" };
}

function configOf(record: ServerRecord, storeFolder: string): string {
  const limits = `{max_mem: 0, max_file: ${accountFileBytesMax}, max_streams: ${accountStreamsMax}, max_consumers: ${accountConsumersMax}}`;
  const account = (name: string, environment: "test" | "live") =>
    `  ${name}: {jetstream: ${limits}, users: [{user: ${environment}, password: ${JSON.stringify(record.passwords[environment])}}]}`;
  return `# Written at every start of the private nats-server; changes here are lost.
listen: "127.0.0.1:${record.port}"
jetstream: {store_dir: ${JSON.stringify(storeFolder)}, max_mem: 1048576, max_file: ${2 * accountFileBytesMax}}
accounts: {
${account("TEST", "test")}
${account("LIVE", "live")}
}
`;
}

/** Rejects while the server, or the cluster that it belongs to, does not answer for JetStream. */
export async function answersJetStream(login: NatsLogin): Promise<void> {
  const connection = await enter(login, { reconnect: false, timeout: 1_000 });
  try {
    await connection.jetstreamManager();
  } finally {
    await connection.close();
  }
}
