/** An installation of several processes behind balancers, in which any process can be replaced by a new one. */
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { inject } from "vitest";
import type { Role } from "../../config/checked-config.ts";
import { prepareDatabases } from "../../demo/databases.ts";
import type { DemoCredentials } from "../../demo/demo-file.ts";
import { addressesFrom } from "../../demo/ports.ts";
import { startPrivateNats } from "../../demo/private-nats.ts";
import { roleVariables } from "../../demo/role-variables.ts";
import { type RoleProcess, startRole } from "../../demo/roles.ts";
import { requestLimitBounds } from "../../limits.ts";
import { seedSite } from "../simulation/chaos/site-merchant.ts";
import { Balancer } from "../testing/balancer.ts";
import { readRoleLogs, requireCleanOutput, secretsUnder } from "../testing/clean-output.ts";
import { startDemoPostgres } from "../testing/demo-postgres.ts";
import { freePortRange } from "../testing/free-port-range.ts";
import { Receiver } from "../testing/receiver.ts";
import { SandboxControl } from "../testing/sandbox-control.ts";
import { compileCache, testStateFolder } from "../testing/test-run.ts";

export type CopiedRole = "edge" | "worker" | "vault";

// The demo's eight, and two for each edge and each vault.
const portsInAll = 8 + 8;
const copies = [0, 1] as const;
// More than ten times as long as the balancer needs to notice and as customers keep an idle connection.
const graceMs = 3_000;

/** A PostgreSQL, a nats-server, the sandbox gateways, and two processes of each other role. */
export class RollingSite {
  readonly addresses: ReturnType<typeof addressesFrom>;
  readonly sandbox: SandboxControl;
  readonly receiver: Receiver;
  databaseUrl = "";
  merchant!: DemoCredentials;
  balancers!: Readonly<Record<"edge" | "vault", Balancer>>;
  readonly #stateFolder: string;
  readonly #firstPort: number;
  readonly #running = new Map<string, RoleProcess>();
  readonly #undo: (() => Promise<unknown>)[] = [];
  #variables: Record<string, string> = {};
  #starts = 0;

  private constructor(site: { stateFolder: string; firstPort: number; receiver: Receiver }) {
    this.#stateFolder = site.stateFolder;
    this.#firstPort = site.firstPort;
    this.receiver = site.receiver;
    this.addresses = addressesFrom(site.firstPort);
    this.sandbox = new SandboxControl(this.addresses.sandboxOrigin);
  }

  static async open(): Promise<RollingSite> {
    const name = `${inject("testRunName")}-rolling-${process.pid}`;
    const stateFolder = join(testStateFolder, name);
    const receiver = await Receiver.start();
    const site = new RollingSite({ stateFolder, firstPort: await freePortRange(portsInAll), receiver });
    site.#undo.push(() => receiver.close());
    await mkdir(stateFolder, { recursive: true });
    await site.#start(name).catch(async (error: Error) => {
      await site.close();
      throw error;
    });
    return site;
  }

  /** Stops a process, which has to end by itself and in order. */
  async stop(role: CopiedRole, copy: number): Promise<void> {
    const old = this.#running.get(`${role}-${copy}`)!;
    await old.close();
    if (old.exitCode() !== 0) throw new Error(`${role}-${copy} ended with ${old.exitCode()}`);
  }

  async replace(role: CopiedRole, copy: number): Promise<void> {
    await this.stop(role, copy);
    await this.#startCopy(role, copy);
    if (role !== "worker") await this.balancers[role].untilReady(copies.length);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#running.values()].map((process) => process.close()));
    for (const undo of this.#undo.toReversed()) await undo();
    const [outputs, secrets] = [readRoleLogs(this.#stateFolder), secretsUnder(this.#stateFolder)];
    await rm(this.#stateFolder, { recursive: true, force: true });
    requireCleanOutput(outputs, secrets);
  }

  async #start(name: string): Promise<void> {
    const location = { dataName: `${name}-postgres`, stateFolder: this.#stateFolder, forTests: true };
    const postgres = await startDemoPostgres(location);
    this.#undo.push(() => postgres.stop({ removeData: true }));
    const nats = await startPrivateNats({ stateFolder: this.#stateFolder });
    this.#undo.push(() => nats.stop());
    const databases = await prepareDatabases(postgres.ownerUrl, this.#stateFolder);
    this.databaseUrl = databases.test;
    this.#variables = roleVariables(this.#stateFolder, this.addresses, { databases, nats: nats.urls });
    const { ports } = this.addresses;
    const balance = async (role: "edge" | "vault", ...doors: number[]) => {
      const instances = copies.map((copy) => {
        const [publicPort, grpcPort] = this.#portsOf(role, copy);
        return { readyUrl: `http://127.0.0.1:${publicPort}/readyz`, ports: [publicPort, grpcPort] };
      });
      const balancer = await Balancer.open({ instances, doors });
      this.#undo.push(() => balancer.close());
      return balancer;
    };
    this.balancers = {
      edge: await balance("edge", ports.public, ports.grpc),
      vault: await balance("vault", ports.vault, ports.vaultGrpc),
    };
    const roles: readonly CopiedRole[] = ["vault", "edge", "worker"];
    await Promise.all([
      this.#run("sandbox", "sandbox", {}),
      ...roles.flatMap((role) => copies.map((copy) => this.#startCopy(role, copy))),
    ]);
    await Promise.all([this.balancers.edge.untilReady(copies.length), this.balancers.vault.untilReady(copies.length)]);
    const seeded = { variables: this.#variables, addresses: this.addresses, stateFolder: this.#stateFolder };
    this.merchant = await seedSite(seeded, `${this.receiver.url}/webhooks`);
  }

  #startCopy(role: CopiedRole, copy: number): Promise<void> {
    if (role === "worker") return this.#run(role, `${role}-${copy}`, {});
    const [publicPort, grpcPort] = this.#portsOf(role, copy);
    const names = role === "edge" ? ["PUBLIC_PORT", "GRPC_PORT"] : ["VAULT_PORT", "VAULT_GRPC_PORT"];
    return this.#run(role, `${role}-${copy}`, {
      [`SWITCHYARD_${names[0]}`]: String(publicPort),
      [`SWITCHYARD_${names[1]}`]: String(grpcPort),
    });
  }

  #portsOf(role: "edge" | "vault", copy: number): readonly [number, number] {
    const first = this.#firstPort + 8 + (role === "edge" ? 0 : 4) + 2 * copy;
    return [first, first + 1];
  }

  async #run(role: Role, name: string, own: Readonly<Record<string, string>>): Promise<void> {
    const variables = {
      ...compileCache,
      ...this.#variables,
      SWITCHYARD_ENVIRONMENTS: "test",
      SWITCHYARD_SHUTDOWN_GRACE_MS: String(graceMs),
      // A single merchant has all customers.
      SWITCHYARD_RATE_LIMIT_PER_SECOND: String(requestLimitBounds.perSecond.max),
      SWITCHYARD_RATE_LIMIT_BURST: String(requestLimitBounds.burst.max),
      ...own,
    };
    const logFile = join(this.#stateFolder, `${name}.${++this.#starts}.log`);
    this.#running.set(name, await startRole(role, { variables, logFile }));
  }
}
