/** Test fixture: the core over an emulated external vault in its own process, before the sandbox acquirers. */

import type { Core } from "../../core/core.ts";
import { createSession } from "../../core/create-session.ts";
import type { Attempt, PaymentSession } from "../../core/rows/entities.ts";
import { type CoreFixture, startCoreFixture } from "../../core/scenarios/core.fixture.ts";
import type { VaultFault } from "../../dev/testing/external-vault/orders.ts";
import { VaultEmulatorProcess } from "../../dev/testing/external-vault/vault-emulator-process.ts";
import { createStrictLog } from "../../dev/testing/strict-log.ts";
import { createBinder, recordConnection, recordVerified, stageCredentials } from "../../gateways/connections.ts";
import { SandboxAConnector } from "../../gateways/sandbox/a/connector.ts";
import { SandboxBConnector } from "../../gateways/sandbox/b/connector.ts";
import { encodeId } from "../../platform/ids.ts";
import { GatewayHttp } from "../../platform/outbound-http.ts";
import { systemRuntime } from "../../platform/runtime.ts";
import { SaasVault } from "./external-vault.ts";

/** The card of these tests: approved unless a test says otherwise. */
export const number = "4242424242424242";

/**
 * A merchant whose rule has SANDBOX_A, which takes forms, and two accounts at SANDBOX_B. The caller closes it at the
 * end of the test.
 */
export class SaasFixture {
  readonly base: CoreFixture;
  readonly emulator: VaultEmulatorProcess;
  readonly core: Core;
  readonly logged: string[] = [];
  readonly #http = new GatewayHttp();

  private constructor(base: CoreFixture, emulator: VaultEmulatorProcess) {
    this.base = base;
    this.emulator = emulator;
    this.core = this.#coreOverVault();
  }

  static async start(): Promise<SaasFixture> {
    const [base, emulator] = await Promise.all([startCoreFixture(), VaultEmulatorProcess.start()]);
    const fixture = new SaasFixture(base, emulator);
    const second = await fixture.#addSecondAccount();
    await base.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"], [...base.connectionIds, second]);
    return fixture;
  }

  get vaultParts() {
    const log = createStrictLog((line) => this.logged.push(line));
    const nowMs = () => systemRuntime.now().getTime();
    return {
      database: this.base.core.database,
      http: this.#http,
      settings: this.emulator.settings,
      environment: "test",
      emulatorHosts: [],
      log,
      nowMs,
    } as const;
  }

  order() {
    return { amountMinor: 4900, currency: "EUR", orderRef: `order-${systemRuntime.uuid()}` };
  }

  async openSession() {
    const { session, vault } = await createSession(this.core, this.base.owner, this.order());
    return { session, grant: String(vault.sdkAuthorization), vault };
  }

  submit(session: Pick<PaymentSession, "id">, token: string, core = this.core): Promise<PaymentSession> {
    return this.base.submit(session, number, token, core);
  }

  /** Creates, tokenizes and pays; returns the session as the submit call left it. */
  async pay(faults: readonly VaultFault[] = [], holder?: string): Promise<PaymentSession> {
    const { session, grant } = await this.openSession();
    const token = await this.emulator.tokenize(grant, number, holder);
    await this.emulator.setFaults(...faults);
    return this.submit(session, token);
  }

  async attempts(session: Pick<PaymentSession, "id">): Promise<readonly Attempt[]> {
    return (await this.base.loadSession(session)).attempts;
  }

  /** Returns the state of each authorization of the session at the acquirers. */
  async atGateways(session: Pick<PaymentSession, "id">): Promise<string[]> {
    const attempts = await this.attempts(session);
    const found = await Promise.all(attempts.map(({ id }) => this.base.sandbox.authorizations(encodeId("att", id))));
    return found.flat().map(({ status }) => status);
  }

  async calm(): Promise<void> {
    await this.emulator.setFaults();
    await this.base.sandbox.release({});
    await this.base.sandbox.setDown("B", false);
    await this.base.sandbox.setCard("B", number, { act: "approve" });
  }

  async close(): Promise<void> {
    await Promise.all(this.core.inFlight);
    await this.base.close();
    await this.emulator.close();
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

  /** Adds a second account at SANDBOX_B: the vault sends only JSON, so both gateways are SANDBOX_B. */
  async #addSecondAccount(): Promise<string> {
    const connectionId = systemRuntime.uuid();
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
