/** The vault as a separate process, which a test may kill, stop and restart, with the core's client for it. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inject } from "vitest";
import { VaultClient } from "../../card-vault/own/vault-rpc.ts";
import { generateKeyFile, generateVaultKeyFile, parseKeyFile } from "../../config/server-keys.ts";
import { freePort } from "../../demo/free-port.ts";
import { type RoleProcess, startRole } from "../../demo/roles.ts";
import { Secret } from "../../platform/secrets.ts";
import { type SigningKey, signSessionGrant } from "../../platform/service-token-signing.ts";
import { requireCleanOutput, secretsIn } from "./clean-output.ts";
import { createTestDatabase } from "./postgres.ts";
import { createStrictLog } from "./strict-log.ts";
import { compileCache, testStateFolder } from "./test-run.ts";

export class VaultProcess {
  readonly #variables: Readonly<Record<string, string>>;
  readonly #signing: SigningKey;
  #role: RoleProcess | undefined;
  #client: VaultClient;

  private constructor(variables: Readonly<Record<string, string>>, signing: SigningKey) {
    this.#variables = variables;
    this.#signing = signing;
    this.#client = this.clientSigning(signing);
  }

  /** Starts it on its own database; close it at the test's end. */
  static async start(): Promise<VaultProcess> {
    const { url } = await createTestDatabase("vault");
    const keys = generateKeyFile("test");
    const keysFile = join(testStateFolder, inject("testRunName"), `vault-keys-${process.pid}.json`);
    writeFileSync(keysFile, generateVaultKeyFile(keys), { mode: 0o600 });
    const port = String(await freePort());
    const variables = {
      SWITCHYARD_ENVIRONMENTS: "test",
      SWITCHYARD_TEST_VAULT_KEYS_FILE: keysFile,
      SWITCHYARD_VAULT_DATABASE_URL: url,
      SWITCHYARD_VAULT_PORT: port,
      SWITCHYARD_VAULT_GRPC_PORT: String(await freePort()),
      SWITCHYARD_ERROR_DOCS_URL: "https://docs.example/errors",
      SWITCHYARD_VAULT_ORIGIN: `http://127.0.0.1:${port}`,
    };
    const vault = new VaultProcess(variables, { ...parseKeyFile(keys, "test").signing, environment: "test" });
    await vault.restart();
    return vault;
  }

  /** The client that stays, also across restarts of the vault. */
  get client(): VaultClient {
    return this.#client;
  }

  get pid(): number {
    if (this.#role === undefined) throw new Error("the vault is not running");
    return this.#role.pid;
  }

  /** Returns another client that signs with this key; close it. */
  clientSigning(signing: SigningKey): VaultClient {
    const address = `127.0.0.1:${this.#variables.SWITCHYARD_VAULT_GRPC_PORT}`;
    return new VaultClient({ address, signing, log: createStrictLog() });
  }

  /** Restarts it on the same ports once it has ended. */
  async restart(): Promise<void> {
    await this.#end();
    this.#role = await startRole("vault", {
      variables: { ...compileCache, ...this.#variables },
      logFile: this.#logFile,
    });
  }

  async tokenize(sessionId: string, number: string): Promise<Secret> {
    const expiresAt = new Date(Date.now() + 60_000);
    const grant = await signSessionGrant(this.#signing, {
      session: sessionId,
      profile: "mer_1",
      origins: [],
      expiresAt,
    });
    const response = await fetch(`${this.#variables.SWITCHYARD_VAULT_ORIGIN}/tokens`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${grant}` },
      body: JSON.stringify({ number, expMonth: 4, expYear: 2031, cvc: "123", holder: "Ada Lovelace" }),
    });
    if (!response.ok) throw new Error(`the vault answered ${response.status} to a card`);
    return new Secret(((await response.json()) as { token: string }).token);
  }

  async close(): Promise<void> {
    this.#client.close();
    await this.#end();
  }

  get #logFile(): string {
    return join(testStateFolder, inject("testRunName"), `vault-${process.pid}.log`);
  }

  /** Searches its output for cards and its secrets. */
  async #end(): Promise<void> {
    if (this.#role === undefined) return;
    await this.#role.close();
    const { password } = new URL(this.#variables.SWITCHYARD_VAULT_DATABASE_URL!);
    const keys = JSON.parse(readFileSync(this.#variables.SWITCHYARD_TEST_VAULT_KEYS_FILE!, "utf8"));
    const output = { where: "vault.log", text: readFileSync(this.#logFile, "latin1") };
    requireCleanOutput([output], secretsIn({ password, keys }));
  }
}
