/**
 * Three nats-servers that are one cluster by the committed configuration (deploy/nats), on loopback; each can be killed
 * and restarted separately.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { CannotStart, startServer, stopServer } from "../../demo/detached-server.ts";
import { freePort } from "../../demo/free-port.ts";
import { answersJetStream, findNatsServer } from "../../demo/private-nats.ts";
import type { ProcessMark } from "../../demo/process-mark.ts";
import { saveRecord, startedByUs } from "../../demo/server-record.ts";
import type { NatsLogin } from "../../platform/nats.ts";
import { TestAuthority } from "./certificates.ts";

type Member = {
  readonly name: string;
  readonly port: number;
  readonly routePort: number;
  readonly monitorPort: number;
};

const configFile = join(import.meta.dirname, "../../../deploy/nats/nats.conf");
const names = ["nats-1", "nats-2", "nats-3"];
const stopSignal = "SIGTERM";
const password = "of-a-cluster-on-loopback";
// The hash of the password, by bcrypt at its lowest cost, as `htpasswd -nbB -C 4` makes it.
const passwordHash = "$2a$04$Jw5qgVnE2mLr8TtYcXkZ0uFH0GCd3DrPsngnSKCuf7qrD/OTM779y";

/** A running cluster with an account for each environment, behind certificates of its own authority. */
export class NatsCluster {
  readonly urls: Readonly<Record<"test" | "live", NatsLogin>>;
  readonly #folder: string;
  readonly #command: string;
  readonly #members: readonly Member[];
  readonly #authority = new TestAuthority("Cluster");
  readonly #certificate = this.#authority.issue("nats");
  readonly #running = new Map<string, ProcessMark>();

  private constructor(folder: string, command: string, members: readonly Member[]) {
    this.#folder = folder;
    this.#command = command;
    this.#members = members;
    const servers = members.map(({ port }) => `localhost:${port}`).join(",");
    const { certFile, keyFile } = this.#authority.issue("worker");
    const entered = { servers, pass: password, tls: { caFile: this.#authority.certFile, certFile, keyFile } };
    this.urls = { test: { ...entered, user: "test" }, live: { ...entered, user: "live" } };
  }

  /** Starts all three and resolves when they have agreed on a leader. */
  static async start(folder: string): Promise<NatsCluster> {
    const members: Member[] = [];
    for (const name of names) {
      members.push({ name, port: await freePort(), routePort: await freePort(), monitorPort: await freePort() });
    }
    const cluster = new NatsCluster(folder, await findNatsServer(), members);
    try {
      await Promise.all(names.map((name) => cluster.restart(name)));
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  /** The names of its servers, as JetStream reports leaders. */
  get names(): readonly string[] {
    return names;
  }

  async kill(name: string): Promise<void> {
    const mark = this.#running.get(name);
    if (mark === undefined) throw new CannotStart(`${name} is not running`);
    await stopServer(mark, "SIGKILL");
    this.#running.delete(name);
  }

  async restart(name: string): Promise<void> {
    const member = this.#members.find((one) => one.name === name)!;
    const dataFolder = join(this.#folder, name);
    mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
    const mark = await startServer({
      name,
      // The variables are the file's own; the server gets no others but those of this process.
      command: "env",
      args: [...this.#variablesOf(member, dataFolder), this.#command, "-c", configFile],
      cwd: dataFolder,
      logFile: join(this.#folder, `${name}.log`),
      stopSignal,
      onSpawn: (server) =>
        saveRecord(
          join(this.#folder, `${name}.json`),
          startedByUs({ dataFolder, port: member.port, passwords: {} }, server),
        ),
      probe: () => answersJetStream({ ...this.urls.test, servers: `localhost:${member.port}` }),
    });
    this.#running.set(name, mark);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#running.values()].map((mark) => stopServer(mark, stopSignal)));
    this.#running.clear();
    this.#authority.close();
  }

  /** Returns each NAME=value that the configuration requires. */
  #variablesOf({ name, port, routePort, monitorPort }: Member, dataFolder: string): string[] {
    const quoted = (value: string) => JSON.stringify(value);
    const { certFile, keyFile } = this.#certificate;
    const routes = this.#members.map((one, index) => [
      `NATS_ROUTE_${index + 1}`,
      quoted(`nats-route://127.0.0.1:${one.routePort}`),
    ]);
    const variables = {
      NATS_SERVER_NAME: name,
      NATS_LISTEN: quoted(`127.0.0.1:${port}`),
      NATS_ROUTE_LISTEN: quoted(`127.0.0.1:${routePort}`),
      NATS_MONITOR_LISTEN: quoted(`127.0.0.1:${monitorPort}`),
      NATS_STORE_FOLDER: quoted(join(dataFolder, "jetstream")),
      NATS_TLS_CERT_FILE: quoted(certFile),
      NATS_TLS_KEY_FILE: quoted(keyFile),
      NATS_TLS_CA_FILE: quoted(this.#authority.certFile),
      NATS_TLS_VERIFY_CLIENTS: "true",
      NATS_TEST_PASSWORD_HASH: passwordHash,
      NATS_LIVE_PASSWORD_HASH: passwordHash,
      NATS_SYS_PASSWORD_HASH: passwordHash,
      ...Object.fromEntries(routes),
    };
    return Object.entries(variables).map(([variable, value]) => `${variable}=${value}`);
  }
}
