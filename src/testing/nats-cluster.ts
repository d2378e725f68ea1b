/** Three nats-servers that are one cluster, on loopback, each of which may be killed and started again by itself. */
import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CannotStart, startServer, stopServer } from "../demo/detached-server.ts";
import { freePort } from "../demo/free-port.ts";
import { answersJetStream, findNatsServer, type NatsLogin } from "../demo/private-nats.ts";
import type { ProcessMark } from "../demo/process-mark.ts";
import { saveRecord, startedByUs } from "../demo/server-record.ts";

type Member = { readonly name: string; readonly port: number; readonly routePort: number };

const names = ["nats-1", "nats-2", "nats-3"];
const stopSignal = "SIGTERM";
// An account's store holds every copy of a stream, and each copy may grow to 1 GiB.
const storeBytesMax = 8 * 1024 ** 3;

/** A running cluster with an account for each environment. */
export class NatsCluster {
  readonly urls: Readonly<Record<"test" | "live", NatsLogin>>;
  readonly #folder: string;
  readonly #command: string;
  readonly #members: readonly Member[];
  readonly #running = new Map<string, ProcessMark>();

  private constructor(folder: string, command: string, members: readonly Member[]) {
    this.#folder = folder;
    this.#command = command;
    this.#members = members;
    const password = randomBytes(24).toString("base64url");
    const servers = members.map(({ port }) => `127.0.0.1:${port}`).join(",");
    this.urls = {
      test: { servers, user: "test", pass: password },
      live: { servers, user: "live", pass: password },
    };
  }

  /** Starts all three and resolves when they have agreed on a leader. */
  static async start(folder: string): Promise<NatsCluster> {
    const members: Member[] = [];
    for (const name of names) members.push({ name, port: await freePort(), routePort: await freePort() });
    const cluster = new NatsCluster(folder, await findNatsServer(), members);
    try {
      await Promise.all(names.map((name) => cluster.restart(name)));
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  /** The names of its servers, as JetStream gives those of leaders. */
  get names(): readonly string[] {
    return names;
  }

  /** SIGKILL. */
  async kill(name: string): Promise<void> {
    const mark = this.#running.get(name);
    if (mark === undefined) throw new CannotStart(`${name} does not run`);
    await stopServer(mark, "SIGKILL");
    this.#running.delete(name);
  }

  /** Starts one that is down, on what it had stored. */
  async restart(name: string): Promise<void> {
    const member = this.#members.find((one) => one.name === name)!;
    const dataFolder = join(this.#folder, name);
    mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
    const configFile = join(dataFolder, "nats.conf");
    writeFileSync(configFile, this.#configOf(member, dataFolder), { mode: 0o600 });
    const mark = await startServer({
      name,
      command: this.#command,
      args: ["-c", configFile],
      cwd: dataFolder,
      logFile: join(this.#folder, `${name}.log`),
      stopSignal,
      onSpawn: (server) =>
        saveRecord(
          join(this.#folder, `${name}.json`),
          startedByUs({ dataFolder, port: member.port, passwords: {} }, server),
        ),
      probe: () => answersJetStream({ ...this.urls.test, servers: `127.0.0.1:${member.port}` }),
    });
    this.#running.set(name, mark);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#running.values()].map((mark) => stopServer(mark, stopSignal)));
    this.#running.clear();
  }

  #configOf({ name, port, routePort }: Member, dataFolder: string): string {
    const account = (of: "test" | "live") =>
      `  ${of.toUpperCase()}: {jetstream: enabled, users: [{user: ${of}, password: ${JSON.stringify(this.urls[of].pass)}}]}`;
    const routes = this.#members.map((one) => `"nats-route://127.0.0.1:${one.routePort}"`).join(", ");
    return `server_name: ${JSON.stringify(name)}
listen: "127.0.0.1:${port}"
jetstream: {store_dir: ${JSON.stringify(join(dataFolder, "jetstream"))}, max_mem: 1048576, max_file: ${storeBytesMax}}
cluster: {name: switchyard, listen: "127.0.0.1:${routePort}", routes: [${routes}]}
accounts: {
${account("test")}
${account("live")}
}
`;
  }
}
