/** The harness of payment benchmarks: PostgreSQL, NATS, every role as a process, a merchant, its receiver. */
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { KeyFile } from "../../config/server-keys.ts";
import { prepareDatabases } from "../../demo/databases.ts";
import { addressesFrom, type DemoAddresses } from "../../demo/ports.ts";
import { removePostgresHome } from "../../demo/postgres-home.ts";
import { startPrivateNats } from "../../demo/private-nats.ts";
import { startPrivatePostgres } from "../../demo/private-postgres.ts";
import { roleVariables } from "../../demo/role-variables.ts";
import { type RoleProcess, startRole } from "../../demo/roles.ts";
import { requestLimitBounds } from "../../limits.ts";
import { seedSite } from "../simulation/chaos/site-merchant.ts";
import { Child } from "../testing/child-process.ts";
import { freePortRange } from "../testing/free-port-range.ts";
import { processCpuMs, serverCpuMs } from "./database-cpu.ts";
import type { Passed } from "./statement-gate.ts";
import { startCountingPostgres } from "./statement-times.ts";

export type SiteRole = "sandbox" | "vault" | "edge" | "worker";

/** The addresses and the key for its customers and its shop, and the key that signs its grants. */
export type SiteDoors = {
  readonly apiOrigin: string;
  readonly vaultOrigin: string;
  readonly secretKey: string;
  readonly signing?: KeyFile["signing"];
};

/** The memory of a process in MiB: its peak, and when it had started and done nothing yet. */
export type Memory = { readonly peak: number; readonly idle: number };

// Notifications and forgotten cards follow a payment within some milliseconds.
const quietMs = 300;
const logTailLines = 10;
const looksMax = 10;

/** Close it at the end of the run, which removes everything. */
export class PaymentSite {
  doors!: SiteDoors;
  /** The origin of the sandbox gateways, and the address of the merchant's webhooks. */
  sandboxOrigin = "";
  webhookUrl = "";
  signingSecret = "";
  receiver!: Child;
  /** The address of its database server, as the owner. */
  ownerUrl = "";
  dataFolder = "";
  #gate!: Child;
  #variables: Readonly<Record<string, string>> = {};
  readonly folder: string;
  readonly #roles = new Map<SiteRole, RoleProcess>();
  readonly #others = new Map<string, { readonly pid: number }>();
  readonly #idleMegabytes = new Map<string, number>();
  #serverPid = 0;
  readonly #stack = new AsyncDisposableStack();

  private constructor(folder: string) {
    this.folder = folder;
    this.#stack.defer(() => rm(folder, { recursive: true, force: true }));
    this.#stack.defer(() => removePostgresHome(folder));
  }

  /**
   * Starts everything except the worker; removes everything if a part cannot start. A database that times its
   * statements is slower, and so are edge and vault if they are counted. `behindProxy` lets customers say where they come from.
   */
  static async open(
    how: { timesStatements?: boolean; counted?: boolean; behindProxy?: boolean } = {},
  ): Promise<PaymentSite> {
    const site = new PaymentSite(await mkdtemp(join(tmpdir(), "switchyard-bench-")));
    try {
      await site.#open(how);
      return site;
    } catch (error) {
      await site.close();
      throw error;
    }
  }

  /** Starts or restarts a role. The statements of a counted role pass the gate, which costs some time. */
  async start(role: SiteRole, how: { counted?: boolean; nodeOptions?: readonly string[] } = {}): Promise<void> {
    const { counted = false, nodeOptions = [] } = how;
    await this.#roles.get(role)?.close();
    const variable = role === "vault" ? "SWITCHYARD_VAULT_DATABASE_URL" : "SWITCHYARD_TEST_DATABASE_URL";
    const through = counted ? { [variable]: await this.gatedUrl(role, this.#variables[variable]!) } : {};
    const variables = { ...this.#variables, ...through };
    const logFile = join(this.folder, `${role}.log`);
    const started = await startRole(role, { variables, logFile, nodeOptions });
    this.#roles.set(role, started);
    this.#idleMegabytes.set(role, megabytesOf(started.pid, "VmRSS"));
  }

  /** Includes another process in the readings of CPU and memory; it is idle now. */
  measure(name: string, process: { readonly pid: number }): void {
    this.#others.set(name, process);
    this.#idleMegabytes.set(name, megabytesOf(process.pid, "VmRSS"));
  }

  /** Returns the address at which the gate counts, under this name, the statements to a database. */
  async gatedUrl(name: string, databaseUrl: string): Promise<string> {
    const url = new URL(databaseUrl);
    const port = await this.#gate.ask<number>("listen", { name, host: url.hostname, port: Number(url.port) });
    return Object.assign(url, { hostname: "127.0.0.1", port: String(port) }).href;
  }

  /** Counts what each counted process sends to its database during `work`, and afterwards until it stops sending. */
  async count(work: () => Promise<unknown>): Promise<Readonly<Record<string, Passed>>> {
    await this.#gate.ask("begin");
    await work();
    let passed = await this.#gate.ask<Readonly<Record<string, Passed>>>("passed");
    for (let before = "", looks = 0; before !== JSON.stringify(passed) && looks < looksMax; looks++) {
      before = JSON.stringify(passed);
      await pause(quietMs);
      passed = await this.#gate.ask("passed");
    }
    return passed;
  }

  /** Returns the memory of every measured process: its peak so far, and its memory at the start, in MiB. */
  memory(): Readonly<Record<string, Memory>> {
    const pids = new Map([...this.#others, ...this.#roles].map(([name, { pid }]) => [name, pid] as const));
    const figures = [...this.#idleMegabytes].map(([name, idle]): [string, Memory] => [
      name,
      { peak: megabytesOf(pids.get(name)!, "VmHWM"), idle },
    ]);
    return Object.fromEntries(figures);
  }

  /** Returns the CPU time so far, in milliseconds, of every process that takes part; empty if it is not available. */
  cpuMs(): Readonly<Record<string, number>> {
    const own = [...this.#roles, ...this.#others].map(([name, { pid }]) => [name, processCpuMs(pid)] as const);
    const all = [...own, ["postgres", serverCpuMs(this.#serverPid)] as const];
    return Object.fromEntries(all.flatMap(([name, ms]) => (ms === undefined ? [] : [[name, ms] as const])));
  }

  startChild(file: string): Child {
    const child = Child.start(join(import.meta.dirname, file));
    this.#others.set(file.replace(/\.ts$/, ""), child);
    this.#stack.defer(() => child.close());
    return child;
  }

  /** Prints the ends of the roles' logs, which `close` removes: what a refused payment failed of is only there. */
  printLogs(): void {
    for (const role of this.#roles.keys()) {
      const lines = readFileSync(join(this.folder, `${role}.log`), "utf8")
        .trimEnd()
        .split("\n");
      console.error([`the end of the log of ${role}:`, ...lines.slice(-logTailLines)].join("\n"));
    }
  }

  close(): Promise<void> {
    return this.#stack.disposeAsync();
  }

  async #open({ timesStatements = false, counted = false, behindProxy = false }): Promise<void> {
    const startPostgres = timesStatements ? startCountingPostgres : startPrivatePostgres;
    const server = await startPostgres({ stateFolder: this.folder, dataName: "postgres" });
    this.#stack.defer(() => server.stop({ removeData: true }));
    this.ownerUrl = server.ownerUrl;
    this.dataFolder = server.dataFolder;
    this.#serverPid = server.pid;
    const nats = await startPrivateNats({ stateFolder: this.folder });
    this.#stack.defer(() => nats.stop());
    this.#others.set("nats", nats);
    this.#gate = this.startChild("statement-gate.ts");
    const addresses = addressesFrom(await freePortRange(Object.keys(addressesFrom(0).ports).length));
    const databases = await prepareDatabases(server.ownerUrl, this.folder);
    this.#variables = {
      ...variablesOf(this.folder, addresses, { databases, nats: nats.urls }),
      ...(behindProxy && { SWITCHYARD_TRUSTED_PROXIES: "127.0.0.0/8" }),
    };
    this.#stack.defer(async () => {
      for (const role of [...this.#roles.values()].toReversed()) await role.close();
    });
    await this.start("sandbox");
    await this.start("vault", { counted });
    await this.start("edge", { counted });
    this.receiver = this.startChild("webhook-receiver.ts");
    this.webhookUrl = `${await this.receiver.ask<string>("listen")}/webhooks`;
    // The seed needs both environments; the roles serve one.
    const variables = { ...this.#variables, SWITCHYARD_ENVIRONMENTS: "test,live" };
    const { secretKey, signingSecret } = await seedSite(
      { variables, addresses, stateFolder: this.folder },
      this.webhookUrl,
    );
    const { apiOrigin, vaultOrigin } = addresses;
    this.sandboxOrigin = addresses.sandboxOrigin;
    this.signingSecret = signingSecret;
    const { signing } = JSON.parse(readFileSync(this.#variables.SWITCHYARD_TEST_KEYS_FILE!, "utf8")) as KeyFile;
    this.doors = { apiOrigin, vaultOrigin, secretKey, signing };
  }
}

export function databaseOf({ ownerUrl }: Pick<PaymentSite, "ownerUrl">): string {
  return Object.assign(new URL(ownerUrl), { pathname: "/switchyard_test" }).href;
}

/** Reads a line of proc_pid_status(5) in MiB. */
function megabytesOf(pid: number, line: "VmHWM" | "VmRSS"): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Math.round(Number(new RegExp(`^${line}:\\s+(\\d+) kB`, "m").exec(status)![1]) / 1_024);
}

function variablesOf(
  stateFolder: string,
  addresses: DemoAddresses,
  servers: Parameters<typeof roleVariables>[2],
): Record<string, string> {
  return {
    ...roleVariables(stateFolder, addresses, servers),
    SWITCHYARD_ENVIRONMENTS: "test",
    SWITCHYARD_LOG_LEVEL: "error",
    // There is one merchant, and it has the load of a whole installation.
    SWITCHYARD_RATE_LIMIT_PER_SECOND: String(requestLimitBounds.perSecond.max),
    SWITCHYARD_RATE_LIMIT_BURST: String(requestLimitBounds.burst.max),
  };
}
