/** The core over an external vault, which is a stand-in process, with the pretend acquirers behind it, for tests of that mode. */
import type { Core } from "../../core/core.ts";
import { type CoreFixture, startCoreFixture } from "../../core/core-fixture.ts";
import { createSession } from "../../core/create-session.ts";
import type { Attempt, PaymentSession } from "../../core/entities.ts";
import { systemEntropy } from "../../platform/entropy.ts";
import { encodeId } from "../../platform/ids.ts";
import type { VaultFault } from "../../testing/saas-vault/orders.ts";
import { VaultStandInProcess } from "../../testing/saas-vault/vault-stand-in-process.ts";
import { createStrictLog } from "../../testing/strict-log.ts";
import { createBinder, recordConnection, recordVerified, stageCredentials } from "../connections.ts";
import { GatewayHttp } from "../gateway-http.ts";
import { SandboxAConnector } from "../sandbox/a/connector.ts";
import { SandboxBConnector } from "../sandbox/b/connector.ts";
import { SaasVault } from "./saas-vault.ts";

/** The card of these tests: approved unless a test says otherwise. */
export const number = "4242424242424242";

/** One merchant whose rule has SANDBOX_A, which takes forms, and two accounts at SANDBOX_B. Close it at the test's end. */
export class SaasFixture {
  readonly base: CoreFixture;
  readonly standIn: VaultStandInProcess;
  readonly core: Core;
  /** Lines that the core and the vault's client have logged. */
  readonly logged: string[] = [];
  readonly #http = new GatewayHttp();

  private constructor(base: CoreFixture, standIn: VaultStandInProcess) {
    this.base = base;
    this.standIn = standIn;
    this.core = this.#coreOverVault();
  }

  static async start(): Promise<SaasFixture> {
    const [base, standIn] = await Promise.all([startCoreFixture(), VaultStandInProcess.start()]);
    const fixture = new SaasFixture(base, standIn);
    const second = await fixture.#addSecondAccount();
    await base.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"], [...base.connectionIds, second]);
    return fixture;
  }

  get vaultParts() {
    const log = createStrictLog((line) => this.logged.push(line));
    const nowMs = () => systemEntropy.now().getTime();
    return {
      database: this.base.core.database,
      http: this.#http,
      settings: this.standIn.settings,
      environment: "test",
      standInHosts: [],
      log,
      nowMs,
    } as const;
  }

  order() {
    return { amountMinor: 4900, currency: "EUR", orderRef: `order-${systemEntropy.uuid()}` };
  }

  async openSession() {
    const { session, vault } = await createSession(this.core, this.base.owner, this.order());
    return { session, grant: String(vault.sdkAuthorization), vault };
  }

  submit(session: Pick<PaymentSession, "id">, token: string, core = this.core): Promise<PaymentSession> {
    return this.base.submit(session, number, token, core);
  }

  /** Creates, tokenizes and pays; the session as the submit call left it. */
  async pay(faults: readonly VaultFault[] = [], holder?: string): Promise<PaymentSession> {
    const { session, grant } = await this.openSession();
    const token = await this.standIn.tokenize(grant, number, holder);
    await this.standIn.setFaults(...faults);
    return this.submit(session, token);
  }

  async attempts(session: Pick<PaymentSession, "id">): Promise<readonly Attempt[]> {
    return (await this.base.trail(session)).attempts;
  }

  /** How each authorization of the session stands at the acquirers. */
  async atGateways(session: Pick<PaymentSession, "id">): Promise<string[]> {
    const attempts = await this.attempts(session);
    const found = await Promise.all(attempts.map(({ id }) => this.base.sandbox.authorizations(encodeId("att", id))));
    return found.flat().map(({ status }) => status);
  }

  /** Everything well again, for the next test. */
  async calm(): Promise<void> {
    await this.standIn.setFaults();
    await this.base.sandbox.release({});
    await this.base.sandbox.setDown("B", false);
    await this.base.sandbox.setCard("B", number, { act: "approve" });
  }

  async close(): Promise<void> {
    await Promise.all(this.core.inFlight);
    await this.base.close();
    await this.standIn.close();
    await this.#http.close();
  }

  #coreOverVault(): Core {
    const { core, sandbox } = this.base;
    const vault = new SaasVault(this.vaultParts);
    const parts = { http: this.#http, forwarder: vault, origin: sandbox.origin, environment: "test" } as const;
    const connectors = [new SandboxAConnector(parts), new SandboxBConnector(parts)];
    const connectorOf = (gateway: string) => connectors.find((connector) => connector.gateway === gateway);
    const bind = createBinder({ database: core.database, ring: core.sealing, connectorOf });
    const timing = { attemptTimeoutMs: 1_500, submissionBudgetMs: 20_000 };
    return { ...core, log: this.vaultParts.log, vault, timing, connectorOf, bind, inFlight: new Set() };
  }

  /** JSON bodies are all that the vault sends, so both gateways that can be asked are SANDBOX_B. */
  async #addSecondAccount(): Promise<string> {
    const connectionId = systemEntropy.uuid();
    const account = "test_second";
    const credentials = {
      apiKey: `sandbox_${account}`,
      merchantAccount: account,
      notificationHmacKey: "0F".repeat(32),
    };
    const { merchantId } = this.base.owner;
    await this.core.database.transaction(async (tx) => {
      await recordConnection(tx, { id: connectionId, merchantId, gateway: "SANDBOX_B", account });
      const credentialVersion = await stageCredentials(tx, this.core.sealing, { connectionId, credentials });
      await recordVerified(tx, { connectionId, credentialVersion });
    });
    return connectionId;
  }
}
