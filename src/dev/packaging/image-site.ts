/**
 * An installation from the container image: services of deploy/compose.yaml with their settings, secrets, user and
 * limits, on loopback ports and with a PostgreSQL and a nats-server of the test.
 */
import { chownSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { addressesFrom, type DemoAddresses } from "../../demo/ports.ts";
import { startPrivateNats } from "../../demo/private-nats.ts";
import { startPrivatePostgres } from "../../demo/private-postgres.ts";
import { provision } from "../../migrations/provision.ts";
import { systemRuntime } from "../../platform/runtime.ts";
import { TestAuthority } from "../testing/certificates.ts";
import { freePortRange } from "../testing/free-port-range.ts";
import { type ComposeService, composeFile, givenToService } from "./compose-file.ts";
import { Container } from "./container.ts";
import type { ImageConfig } from "./image-store.ts";

const databases = ["accounts", "test", "live", "vault"] as const;
const root = { uid: 0, gid: 0 };
// The limits of a service without its own: those of a migration.
const small = composeFile.services["migrate-test"]!;

type Image = { readonly root: string; readonly config: ImageConfig };

/** Close it at the end, which removes everything. */
export class ImageSite {
  readonly addresses: DemoAddresses;
  readonly #image: Image;
  readonly #folder: string;
  readonly #secrets = new Map<string, string>();
  readonly #overrides = new Map<string, string | undefined>();
  readonly #stack = new AsyncDisposableStack();

  private constructor(image: Image, folder: string, firstPort: number) {
    this.#image = image;
    this.#folder = folder;
    this.addresses = addressesFrom(firstPort);
    this.#stack.defer(() => rm(folder, { recursive: true, force: true }));
  }

  /** Starts the servers, makes the secrets and migrates the databases; starts no role. `name` is of the test's run. */
  static async open(image: Image, options: { stateFolder: string; name: string }): Promise<ImageSite> {
    const { stateFolder, name } = options;
    const firstPort = await freePortRange(Object.keys(addressesFrom(0).ports).length);
    const site = new ImageSite(image, join(stateFolder, name), firstPort);
    try {
      mkdirSync(join(site.#folder, "keys"), { recursive: true, mode: 0o700 });
      await site.#startServers(stateFolder, name);
      site.#makeCertificates();
      await site.#makeKeys();
      site.#setAddresses();
      return site;
    } catch (error) {
      await site.close();
      throw error;
    }
  }

  /** Starts a service of compose.yaml, with other settings if given. */
  start(service: string, settings: Readonly<Record<string, string>> = {}): Promise<Container> {
    const { environment, ...described } = composeFile.services[service]!;
    const given = givenToService({ environment: environment ?? {}, ...described }).variables;
    const variables = new Map(
      Object.entries(given).map(([name, value]) => [name, value.replace("example.com", "acme.test")]),
    );
    for (const [name, value] of [...this.#overrides, ...Object.entries(settings)]) {
      if (value === undefined) variables.delete(name);
      else variables.set(name, value);
    }
    return this.#start(service, described, variables);
  }

  /** Starts the sandbox gateways, which compose.yaml does not have. */
  startSandbox(): Promise<Container> {
    const { ports, apiOrigin } = this.addresses;
    const settings = {
      SWITCHYARD_SANDBOX_PORT: String(ports.sandbox),
      SWITCHYARD_ERROR_DOCS_URL: `${apiOrigin}/docs/errors`,
    };
    const service = { ...small, command: ["serve", "--role", "sandbox"], secrets: [] };
    return this.#start("sandbox", service, new Map(Object.entries(settings)));
  }

  close(): Promise<void> {
    return this.#stack.disposeAsync();
  }

  async #startServers(stateFolder: string, name: string): Promise<void> {
    const postgres = await startPrivatePostgres({ stateFolder, dataName: `${name}-postgres` });
    this.#stack.defer(() => postgres.stop({ removeData: true }));
    const nats = await startPrivateNats({ stateFolder: this.#folder });
    this.#stack.defer(() => nats.stop());
    const wanted = databases.map((database) => {
      const role = `switchyard_${database}`;
      return { database: role, role, password: Buffer.from(systemRuntime.randomBytes(24)).toString("base64url") };
    });
    await provision(postgres.ownerUrl, wanted);
    for (const { database, role, password } of wanted) {
      const ownerUrl = Object.assign(new URL(postgres.ownerUrl), { pathname: `/${database}` });
      const short = database.replace("switchyard_", "");
      this.#secrets.set(`${short}-owner-url`, ownerUrl.href);
      this.#secrets.set(`${short}-database-url`, Object.assign(ownerUrl, { username: role, password }).href);
    }
    for (const environment of ["test", "live"] as const) {
      const { servers, user, pass } = nats.urls[environment];
      const prefix = `SWITCHYARD_${environment.toUpperCase()}_NATS`;
      this.#secrets.set(`${environment}-nats-password`, pass);
      this.#overrides.set(`${prefix}_SERVERS`, servers).set(`${prefix}_USER`, user);
      // The servers are on loopback, so without TLS; and a single server keeps one copy of a stream.
      this.#overrides.set(`${prefix}_TLS_CA_FILE`, undefined);
    }
    this.#overrides.set("SWITCHYARD_STREAM_REPLICAS", "1");
  }

  #makeCertificates(): void {
    const [servers, clients] = [new TestAuthority("servers"), new TestAuthority("clients of the vault")];
    this.#stack.defer(() => servers.close());
    this.#stack.defer(() => clients.close());
    for (const [authority, its, server] of [
      [servers, "ca.crt", "vault"],
      [clients, "vault-clients-ca.crt", "vault-client"],
      [clients, "vault-clients-ca.crt", "vault-dashboard"],
    ] as const) {
      const { cert, key } = authority.issue(server);
      this.#secrets.set(its, authority.cert).set(`${server}.crt`, cert).set(`${server}.key`, key);
    }
  }

  /** Makes the service's keys by the image's commands, as prepare.sh does: as root, in a folder of the host. */
  async #makeKeys(): Promise<void> {
    const folder = join(this.#folder, "keys");
    const generate = async (...args: string[]) => {
      const service = { ...small, command: ["server-keys", ...args], secrets: [] };
      await this.#finish(await this.#start(`keys-${args.at(-1)!.replace(/\W+/g, "-")}`, service, new Map(), folder));
    };
    await generate("generate", "--environment", "test", "--out", "/secrets/keys-test.json");
    await generate("generate", "--environment", "live", "--out", "/secrets/keys-live.json");
    await generate("generate-accounts", "--out", "/secrets/keys-accounts.json");
    const files = [
      "keys-test.json",
      "keys-live.json",
      "keys-accounts.json",
      "vault-keys-test.json",
      "vault-keys-live.json",
    ];
    for (const name of files) this.#secrets.set(name, readFileSync(join(folder, name), "utf8"));
  }

  async migrate(): Promise<void> {
    for (const database of databases) await this.#finish(await this.start(`migrate-${database}`));
  }

  async #finish(container: Container): Promise<void> {
    const code = await container.wait();
    if (code !== 0) throw new Error(`${container.name} ended with ${code}:\n${container.logTail}`);
  }

  #setAddresses(): void {
    const { ports, sandboxOrigin } = this.addresses;
    const settings = {
      SWITCHYARD_HOST: "127.0.0.1",
      SWITCHYARD_PUBLIC_PORT: String(ports.public),
      SWITCHYARD_GRPC_PORT: String(ports.grpc),
      SWITCHYARD_VAULT_PORT: String(ports.vault),
      SWITCHYARD_VAULT_GRPC_PORT: String(ports.vaultGrpc),
      // A name, as its certificate has it.
      SWITCHYARD_VAULT_GRPC_ADDRESS: `localhost:${ports.vaultGrpc}`,
      SWITCHYARD_DASHBOARD_PORT: String(ports.dashboard),
      // Compose has no sandbox gateways, and no webhooks to this machine.
      SWITCHYARD_SANDBOX_ORIGIN: sandboxOrigin,
      SWITCHYARD_LOOPBACK_WEBHOOKS: "yes",
    };
    for (const [name, value] of Object.entries(settings)) this.#overrides.set(name, value);
  }

  /** A container of the image. One with a folder at /secrets is root's, and may write there. */
  async #start(
    name: string,
    service: ComposeService,
    variables: ReadonlyMap<string, string>,
    keysFolder?: string,
  ): Promise<Container> {
    const { config, root: files } = this.#image;
    const [uid, gid] = (service.user ?? config.User).split(":").map(Number);
    const user = keysFolder === undefined ? { uid: uid!, gid: gid! } : root;
    const secrets = this.#layOutSecrets(name, service, user);
    const container = await Container.start(join(this.#folder, "containers"), {
      name,
      root: files,
      user,
      workingDirectory: config.WorkingDir,
      command: [...config.Entrypoint, ...(service.command ?? config.Cmd)],
      variables: [...config.Env, ...[...variables].map(([key, value]) => `${key}=${value}`)],
      folders: {
        "/run/secrets": { source: secrets },
        ...(keysFolder !== undefined && { "/secrets": { source: keysFolder, isWritable: true } }),
      },
      limits: limitsOf(service),
    });
    this.#stack.defer(async () => void (await container.stop()));
    return container;
  }

  /** Writes the secrets of a service into a folder, readable by its user alone. */
  #layOutSecrets(name: string, { secrets = [] }: ComposeService, { uid, gid }: typeof root): string {
    const folder = join(this.#folder, "secrets", name);
    mkdirSync(folder, { recursive: true });
    for (const secret of secrets) {
      const { source, target } = typeof secret === "string" ? { source: secret, target: secret } : secret;
      const text = this.#secrets.get(source);
      if (text === undefined) throw new Error(`the test makes no secret ${source}`);
      writeFileSync(join(folder, target), text, { mode: 0o400 });
      chownSync(join(folder, target), uid, gid);
    }
    return folder;
  }
}

const unitBytes: Readonly<Record<string, number>> = { m: 2 ** 20, g: 2 ** 30 };

function limitsOf({ deploy }: ComposeService) {
  const { cpus, memory, pids } = deploy!.resources.limits;
  const unit = unitBytes[memory.at(-1)!];
  if (unit === undefined || pids === undefined) throw new Error(`limits in other words: ${memory}, ${pids}`);
  return { memoryBytes: Number(memory.slice(0, -1)) * unit, processes: pids, cpus: Number(cpus) };
}
