/** The parts that webhooks need, and no others: PostgreSQL, NATS, workers, sessions that end. */
import { existsSync, readFileSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "pg";
import { readConfig } from "../../../config/config.ts";
import type { Core } from "../../../core/core.ts";
import { expireSession } from "../../../core/expire-sessions.ts";
import { emitEvent } from "../../../core/record/settle.ts";
import { prepareDatabases } from "../../../demo/databases.ts";
import { stopServer } from "../../../demo/detached-server.ts";
import { addressesFrom } from "../../../demo/ports.ts";
import { type PrivateNats, startPrivateNats } from "../../../demo/private-nats.ts";
import { markOf } from "../../../demo/process-mark.ts";
import { roleVariables } from "../../../demo/role-variables.ts";
import { type RoleProcess, startRole } from "../../../demo/roles.ts";
import { registerEndpoint, verifyEndpoint } from "../../../events/endpoints.ts";
import { encodeId } from "../../../platform/ids.ts";
import { createLogger } from "../../../platform/log.ts";
import type { Environment } from "../../../processes/environment.ts";
import { type Installation, openInstallation } from "../../../processes/installation.ts";
import { readRoleLogs, requireCleanOutput, secretsUnder } from "../../testing/clean-output.ts";
import { NatsCluster } from "../../testing/nats-cluster.ts";
import { PostgresKeeper } from "../chaos/server-keeper.ts";
import { Tally } from "../chaos/tally.ts";

export type WebhookSiteOptions = {
  readonly stateFolder: string;
  /** The first of `webhookSitePorts` consecutive free ports. */
  readonly firstPort: number;
  readonly natsServers: 1 | 3;
  /** The location of PostgreSQL's data; the state folder by default. */
  readonly postgres?: { readonly stateFolder: string; readonly dataName: string };
};

export type SiteEndpoint = { readonly endpointId: string; readonly publicId: string; readonly secret: string };

/** Always close it, also after a failure. */
export class WebhookSite {
  readonly stateFolder: string;
  readonly postgres: PostgresKeeper;
  /** The database of the test environment, as its owner. */
  ownerUrl = "";
  readonly #options: WebhookSiteOptions;
  #nats: PrivateNats | undefined;
  #cluster: NatsCluster | undefined;
  #variables: Record<string, string> = {};
  #installation: Installation | undefined;
  readonly #workers: RoleProcess[] = [];
  #clockAheadS = 0;

  private constructor(options: WebhookSiteOptions) {
    this.#options = options;
    this.stateFolder = options.stateFolder;
    const folder = options.postgres ?? { stateFolder: options.stateFolder };
    this.postgres = new PostgresKeeper({ ...folder, port: options.firstPort + portsOfDemo, tally: new Tally() });
  }

  /** Starts the servers, with databases that are migrated and empty. No worker runs yet. */
  static async open(options: WebhookSiteOptions): Promise<WebhookSite> {
    const site = new WebhookSite(options);
    try {
      await site.#start();
      return site;
    } catch (error) {
      await site.close();
      throw error;
    }
  }

  get variables(): Readonly<Record<string, string>> {
    return this.#variables;
  }

  /** The product's own objects on this site's database, in this process. */
  get environment(): Environment {
    return this.#installation!.environments[0]!;
  }

  get cluster(): NatsCluster {
    return this.#cluster!;
  }

  /** Starts a worker process, with the given variables besides the site's. */
  async startWorker(variables: Readonly<Record<string, string>> = {}): Promise<RoleProcess> {
    const logFile = join(this.stateFolder, `worker-${this.#workers.length + 1}.log`);
    const worker = await startRole("worker", { variables: { ...this.#variables, ...variables }, logFile });
    this.#workers.push(worker);
    return worker;
  }

  /** Sends SIGKILL, and optionally removes everything stored. */
  async killNats({ losesStore }: { losesStore: boolean }): Promise<void> {
    const mark = markOf(this.#nats!.pid);
    if (mark) await stopServer(mark, "SIGKILL");
    if (losesStore) await rm(join(this.stateFolder, "nats", "jetstream"), { recursive: true, force: true });
  }

  async startNats(): Promise<void> {
    const { stateFolder, firstPort } = this.#options;
    this.#nats = await startPrivateNats({ stateFolder, port: firstPort + portsOfDemo + 1 });
  }

  async addEndpoint(merchantId: string, url: string): Promise<SiteEndpoint> {
    const { endpoint, signingSecret } = await registerEndpoint(this.environment.endpoints, { merchantId, url });
    const { verified } = await verifyEndpoint(this.environment.endpoints, { merchantId, endpointId: endpoint.id });
    if (!verified) throw new Error(`${url} did not accept its verification`);
    return { endpointId: endpoint.id, publicId: encodeId("we", endpoint.id), secret: signingSecret.expose() };
  }

  /**
   * Settles a session by the product's own code, except for its first row. It has this many events, the end last. With
   * `isSilent` they are committed as by a process that dies before it publishes them. Returns the session's id as events
   * contain it.
   */
  async settle(merchantId: string, { events, isSilent }: { events: number; isSilent?: boolean }): Promise<string> {
    const { core: whole } = this.environment;
    const outbox = isSilent ? { ...whole.outbox, publish: () => {} } : whole.outbox;
    const core: Core = { ...whole, outbox, vault: { ...whole.vault, forget: () => {} } };
    const sessionId = core.runtime.uuid();
    await this.query(insertSession, [sessionId, merchantId]);
    for (let emitted = 1; emitted < events; emitted++) {
      await core.database.transaction((tx) =>
        emitEvent(tx, core, { id: sessionId, merchantId }, "payment_session.pending"),
      );
    }
    await this.query(endSession, [sessionId]);
    await expireSession(core, sessionId);
    return encodeId("ps", sessionId);
  }

  /** Runs a statement as the tables' owner, over its own connection: the database may have been restarted before. */
  async query<Row extends object>(sql: string, values: readonly unknown[] = []): Promise<Row[]> {
    const client = new Client({ connectionString: this.ownerUrl });
    client.on("error", () => {});
    await client.connect();
    try {
      return (await client.query<Row>(sql, [...values])).rows;
    } finally {
      await client.end();
    }
  }

  /** Moves the database's time forward by this much, which leases, retries and sweeps follow. */
  async passSeconds(seconds: number): Promise<void> {
    this.#clockAheadS += seconds;
    await this.query(`CREATE OR REPLACE FUNCTION app.clock() RETURNS timestamptz LANGUAGE sql VOLATILE
      AS 'SELECT clock_timestamp() + interval ''${this.#clockAheadS} seconds'''`);
  }

  /** Stops everything and removes it, except for PostgreSQL's copied programs. */
  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.close()));
    await this.#installation?.close();
    await Promise.all([this.#nats?.stop(), this.#cluster?.stop()]);
    const crashes = readPostgresCrashes(this.#postgresLogFile);
    await this.postgres.discard();
    const [outputs, secrets] = [readRoleLogs(this.stateFolder), secretsUnder(this.stateFolder)];
    await rm(this.stateFolder, { recursive: true, force: true });
    requireCleanOutput(outputs, secrets);
    if (crashes.length > 0) throw new Error(`PostgreSQL has crashed by itself:\n${crashes.join("\n")}`);
  }

  get #postgresLogFile(): string {
    const { stateFolder, postgres } = this.#options;
    return join(postgres?.stateFolder ?? stateFolder, `${postgres?.dataName ?? "postgres"}.log`);
  }

  async #start(): Promise<void> {
    const { stateFolder, firstPort, natsServers } = this.#options;
    await mkdir(stateFolder, { recursive: true, mode: 0o700 });
    const [{ ownerUrl }] = await Promise.all([this.postgres.start(), this.#startNats(natsServers)]);
    const databases = await prepareDatabases(ownerUrl, stateFolder);
    this.ownerUrl = Object.assign(new URL(ownerUrl), { pathname: new URL(databases.test).pathname }).href;
    const nats = (this.#cluster ?? this.#nats!).urls;
    this.#variables = {
      ...roleVariables(stateFolder, addressesFrom(firstPort), { databases, nats }),
      SWITCHYARD_ENVIRONMENTS: "test",
      SWITCHYARD_STREAM_REPLICAS: String(natsServers),
    };
    const config = readConfig(["worker"], this.#variables);
    const log = createLogger({ name: "webhooks", level: "silent" });
    this.#installation = await openInstallation({ ...config, service: config.service! }, log);
    await this.environment.connectNats().connected;
  }

  async #startNats(servers: 1 | 3): Promise<void> {
    if (servers === 1) await this.startNats();
    else this.#cluster = await NatsCluster.start(this.stateFolder);
  }
}

/** Returns the log lines about processes of PostgreSQL that crashed, and those that led to it. */
function readPostgresCrashes(logFile: string): string[] {
  if (!existsSync(logFile)) return [];
  return readFileSync(logFile, "utf8")
    .split("\n")
    .filter((line) =>
      /PANIC:|was terminated by signal|server process \(PID \d+\) exited|Failed process was running/.test(line),
    );
}

// The servers come after the ports of a demo, which the variables name although nothing listens there.
const portsOfDemo = Object.keys(addressesFrom(0).ports).length;

/** Number of consecutive ports that a site needs. */
export const webhookSitePorts = portsOfDemo + 2;

const insertSession = `INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, expires_at)
  VALUES ($1, $2, 4900, 'EUR', 'order-1042', 1, app.clock() + interval '30 minutes')`;
const endSession = "UPDATE payment_session SET expires_at = app.clock() WHERE id = $1 AND phase = 'IDLE'";
