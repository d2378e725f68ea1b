/** The processes of a chaos run: PostgreSQL, NATS, two edges, two workers, the vault, the acquirers. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Role } from "../../../config/checked-config.ts";
import { prepareDatabases } from "../../../demo/databases.ts";
import { addressesFrom, type DemoAddresses } from "../../../demo/ports.ts";
import { roleVariables } from "../../../demo/role-variables.ts";
import { requestLimitBounds } from "../../../limits.ts";
import { type AcquirerName, acquirerNames } from "../../../sandbox/ledger.ts";
import { freePortRange } from "../../testing/free-port-range.ts";
import { SandboxControl } from "../../testing/sandbox-control.ts";
import type { Dice } from "../dice.ts";
import { RoleKeeper } from "./role-keeper.ts";
import { NatsKeeper, PostgresKeeper } from "./server-keeper.ts";
import { type SiteGateways, type SiteMerchant, seedSite } from "./site-merchant.ts";
import type { Tally } from "./tally.ts";

export const sitePrefix = "switchyard-chaos-";

// Six ports for the first edge and all single parts, six for the second edge, one for NATS, one for each PostgreSQL.
const portsPerDemo = 6;
const portsBesideDatabases = 2 * portsPerDemo + 1;

/** The installation of one chaos run. Always close it, also after a failure. */
export class Site {
  readonly stateFolder: string;
  /** The server of each cell; the first one also holds accounts and the vault's cards. */
  readonly postgres: readonly PostgresKeeper[];
  readonly nats: NatsKeeper;
  readonly acquirers: SandboxControl;
  /** The addresses at which each edge serves REST and the checkout's calls. */
  readonly edgeOrigins: readonly string[];
  readonly vaultOrigin: string;
  acquirerNames: readonly AcquirerName[] = ["A", "B"];
  sandbox!: RoleKeeper;
  vault!: RoleKeeper;
  edges: readonly RoleKeeper[] = [];
  workers: readonly RoleKeeper[] = [];
  /** The database of each cell of the test environment, under the roles' login. */
  databaseUrls: readonly string[] = [];
  /** The same databases under their owner's login. */
  ownerUrls: readonly string[] = [];
  readonly #tally: Tally;
  readonly #addresses: readonly [DemoAddresses, DemoAddresses];
  readonly #started: { end(): Promise<void> }[] = [];
  #variables: Record<string, string> = {};
  readonly #merchants: SiteMerchant[] = [];
  #dataFolders: readonly string[] = [];

  private constructor(location: { stateFolder: string; firstPort: number; tally: Tally; cells: number }) {
    const { stateFolder, firstPort, tally, cells } = location;
    this.stateFolder = stateFolder;
    this.#tally = tally;
    this.#addresses = [addressesFrom(firstPort), addressesFrom(firstPort + portsPerDemo)];
    const natsPort = firstPort + portsBesideDatabases - 1;
    this.nats = new NatsKeeper({ stateFolder, tally, port: natsPort });
    this.postgres = Array.from({ length: cells }, (_, index) => {
      const dataName = index === 0 ? "postgres" : `postgres-${index + 1}`;
      return new PostgresKeeper({ stateFolder, tally, port: natsPort + 1 + index, dataName });
    });
    const [{ sandboxOrigin, vaultOrigin }] = this.#addresses;
    this.acquirers = new SandboxControl(sandboxOrigin);
    this.edgeOrigins = this.#addresses.map(({ apiOrigin }) => apiOrigin);
    this.vaultOrigin = vaultOrigin;
  }

  /** Starts everything in a new folder; removes everything if a part cannot start. `cells`: of the test environment. */
  static async open(tally: Tally, cells = 1): Promise<Site> {
    const stateFolder = await mkdtemp(join(tmpdir(), sitePrefix));
    const site = new Site({ stateFolder, firstPort: await freePortRange(portsBesideDatabases + cells), tally, cells });
    try {
      await site.#start();
      return site;
    } catch (error) {
      await site.end();
      await site.remove();
      throw error;
    }
  }

  /** Creates a merchant in a cell, whose webhooks are posted to this address. */
  async openMerchant(webhookUrl: string, gateways: SiteGateways = "sandbox", cell = 1): Promise<SiteMerchant> {
    if (gateways === "all") this.acquirerNames = acquirerNames;
    const { stateFolder } = this;
    const [addresses] = this.#addresses;
    const location = { variables: this.#variables, addresses, stateFolder };
    const merchant = await seedSite(location, webhookUrl, { gateways, cell });
    this.#merchants.push(merchant);
    return merchant;
  }

  /** Makes an acquirer drop all connections for a while; its records stay. */
  async cutOff(acquirer: AcquirerName, forMs: number): Promise<void> {
    this.#tally.add(`cut off ${acquirer.length === 1 ? `SANDBOX_${acquirer}` : acquirer}`);
    await this.acquirers.setDown(acquirer, true).catch(() => {});
    await pause(forMs);
    await this.acquirers.setDown(acquirer, false).catch(() => {});
  }

  /** Sends notifications to this edge from now on, as if a load balancer had chosen another one. */
  async moveNotificationsTo(edge: number): Promise<void> {
    const origin = this.edgeOrigins[edge] ?? "";
    await Promise.all(this.#merchants.map((merchant) => merchant.sendNotificationsTo(origin).catch(() => {})));
  }

  /**
   * Sets a rule with the gateways in another order, perhaps with authentication of every payment, and mostly with retries at
   * the same gateway. A change that the database refuses is skipped.
   */
  async reorderGateways(dice: Dice): Promise<void> {
    this.#tally.add("rule changed");
    const [merchant] = this.#merchants;
    const authentication = dice.pick(["AS_NEEDED", "ALWAYS"] as const);
    const settings = { authentication, retriesSameGateway: dice.chance(0.75) };
    await merchant?.changeRule(this.databaseUrls[0]!, (ids) => dice.shuffled(ids), settings).catch(() => {});
  }

  /** Restarts everything, reconnects the acquirers and removes their faults. */
  async calm(): Promise<void> {
    await Promise.all([...this.postgres, this.nats].map((server) => server.wake()));
    await Promise.all(this.#roles().map((keeper) => keeper.wake()));
    await this.acquirers.setFaults();
    await Promise.all(this.acquirerNames.map((acquirer) => this.acquirers.setDown(acquirer, false)));
  }

  /** Stops everything; stored data stays. */
  async end(): Promise<void> {
    const servers = this.#started.slice(0, this.postgres.length + 1);
    const roles = this.#started.slice(servers.length);
    await Promise.all(roles.map((one) => one.end()));
    for (const one of servers.toReversed()) await one.end();
  }

  /** All folders of the run. As root, PostgreSQL's data and programs are alone in a system folder. */
  get folders(): readonly string[] {
    const elsewhere = this.#dataFolders.filter((folder) => !folder.startsWith(this.stateFolder));
    return [...new Set([this.stateFolder, ...elsewhere.map((folder) => dirname(dirname(folder)))])];
  }

  async remove(): Promise<void> {
    await Promise.all(this.folders.map((folder) => rm(folder, { recursive: true, force: true })));
  }

  async #start(): Promise<void> {
    const prepared = [];
    const owners: string[] = [];
    for (const postgres of this.postgres) {
      const server = await postgres.start();
      this.#started.push(postgres);
      this.#dataFolders = [...this.#dataFolders, server.dataFolder];
      const databases = await prepareDatabases(server.ownerUrl, this.stateFolder);
      prepared.push(databases);
      const owner = new URL(server.ownerUrl);
      owner.pathname = new URL(databases.test).pathname;
      owners.push(owner.href);
    }
    const databases = prepared[0]!;
    this.databaseUrls = prepared.map(({ test }) => test);
    this.ownerUrls = owners;
    const { urls } = await this.nats.start();
    this.#started.push(this.nats);
    const [first, second] = this.#addresses;
    const further = this.databaseUrls
      .slice(1)
      .map((url, index) => [`SWITCHYARD_TEST_CELL_${index + 2}_DATABASE_URL`, url]);
    this.#variables = {
      ...roleVariables(this.stateFolder, first, { databases, nats: urls }),
      ...Object.fromEntries(further),
    };
    this.sandbox = this.#keep("sandbox", "sandbox");
    this.vault = this.#keep("vault", "vault");
    this.edges = [this.#keep("edge", "edge-1"), this.#keep("edge", "edge-2", second)];
    this.workers = [this.#keep("worker", "worker-1"), this.#keep("worker", "worker-2")];
    await Promise.all(this.#roles().map((keeper) => keeper.start()));
  }

  #keep(role: Role, name: string, own: DemoAddresses = this.#addresses[0]): RoleKeeper {
    const variables = {
      ...this.#variables,
      SWITCHYARD_ENVIRONMENTS: "test",
      // There is one merchant, and after an outage all of its customers call at once.
      SWITCHYARD_RATE_LIMIT_PER_SECOND: String(requestLimitBounds.perSecond.max),
      SWITCHYARD_RATE_LIMIT_BURST: String(requestLimitBounds.burst.max),
      SWITCHYARD_PUBLIC_PORT: String(own.ports.public),
      SWITCHYARD_GRPC_PORT: String(own.ports.grpc),
    };
    const logFolder = join(this.stateFolder, "logs");
    const keeper = new RoleKeeper({ name, role, variables, logFolder, tally: this.#tally });
    this.#started.push(keeper);
    return keeper;
  }

  #roles(): readonly RoleKeeper[] {
    return [this.sandbox, this.vault, ...this.edges, ...this.workers];
  }
}
