/** A core with its own database and both sandbox acquirers over real HTTP, for tests of the payment flow. */
import { setTimeout as pause } from "node:timers/promises";
import { Pool } from "pg";
import { selfHostedForwarding } from "../../card-vault/own/vault-rpc.ts";
import { setClockAhead } from "../../dev/testing/database-clock.ts";
import { TestForwarder } from "../../dev/testing/forwarder.ts";
import { createTestDatabase } from "../../dev/testing/postgres.ts";
import { type ReceivedRequest, Receiver } from "../../dev/testing/receiver.ts";
import { SandboxControl } from "../../dev/testing/sandbox-control.ts";
import { createStrictLog } from "../../dev/testing/strict-log.ts";
import { describeForEvent } from "../../edge/session-messages.ts";
import { AdyenAuthenticationProvider } from "../../gateways/adyen/authentication-provider.ts";
import { AdyenConnector } from "../../gateways/adyen/connector.ts";
import type { AuthenticationProvider } from "../../gateways/authentication-provider.ts";
import { createBinder, recordConnection, recordVerified, stageCredentials } from "../../gateways/connections.ts";
import type { Connector, Shopper } from "../../gateways/connector.ts";
import { observeConnector, observeProvider } from "../../gateways/observed-connector.ts";
import { SandboxAConnector } from "../../gateways/sandbox/a/connector.ts";
import { SandboxBConnector } from "../../gateways/sandbox/b/connector.ts";
import type { ConnectorParts } from "../../gateways/sandbox/connector-parts.ts";
import { ThreeDSecureIoProvider } from "../../gateways/threedsecureio/provider.ts";
import { takeNotification } from "../../oversight/notifications/intake.ts";
import { processNotificationsOnce } from "../../oversight/notifications/process-notifications.ts";
import { Database } from "../../platform/database.ts";
import { createHold } from "../../platform/hold.ts";
import { encodeId } from "../../platform/ids.ts";
import { GatewayHttp } from "../../platform/outbound-http.ts";
import { systemRuntime } from "../../platform/runtime.ts";
import { Secret } from "../../platform/secrets.ts";
import { untraced } from "../../platform/telemetry.ts";
import { startSandbox } from "../../sandbox/main.ts";
import { type Core, defaultTiming } from "../core.ts";
import { createSession, type NewSession, type SessionOwner } from "../create-session.ts";
import { returnTokenOf } from "../customer-actions.ts";
import { CircuitBreaker } from "../execute/circuit-breaker.ts";
import { GatewaySlots } from "../execute/gateway-slots.ts";
import { loadSession } from "../record/load-session.ts";
import { recordRoutingRule } from "../record/routing-rules.ts";
import type { FailoverSwitch, PaymentSession } from "../rows/entities.ts";
import type { Payment } from "../rows/payment.ts";
import type { Consent } from "../stored-cards/claim-stored.ts";
import { submitPayment } from "../submit-payment.ts";
import { MemoryVault } from "./stored-vault.fixture.ts";

/** A browser whose page can show actions. */
export const browser = {
  javaEnabled: false,
  colorDepth: 24,
  screenWidth: 1_280,
  screenHeight: 800,
  timeZoneOffsetMinutes: -60,
  language: "de-AT",
};

/** The test cards for tests of the flow, named by the outcome of the payment. */
export const cards = {
  approved: "4242424242424242",
  failover: "4000000000000002",
  fraud: "4100000000000019",
  softDecline: "4000000000009995",
  allDown: "4000000000005035",
};

const hmacKey = "0F".repeat(32);

export async function startCoreFixture(): Promise<CoreFixture> {
  const testDatabase = await createTestDatabase("environment");
  const database = new Database(openPool(testDatabase.url, 20));
  const asOwner = new Database(openPool(testDatabase.ownerUrl, 2));
  await database.namePartitions();
  const sandbox = await startSandbox({ port: 0, silenceMs: 20_000, lateMs: 20_000, slowCaptureMs: 20_000 });
  const http = new GatewayHttp();
  const forwarder = new TestForwarder(http, cards.approved);
  const parts: ConnectorParts = { http, forwarder, origin: sandbox.origin, environment: "test" };
  const connectors = [new SandboxAConnector(parts), new SandboxBConnector(parts), new AdyenConnector(parts)];
  const providers = [
    new ThreeDSecureIoProvider({ ...parts, gateway: "SANDBOX_3DS" }),
    new AdyenAuthenticationProvider(parts),
  ];
  // Observed, as every process has them.
  const core = coreOn(
    database,
    connectors.map((connector) => observeConnector(connector, () => {})),
    providers.map((provider) => observeProvider(provider, () => {})),
  );
  const notifications = await receiveNotifications(core);
  const control = new SandboxControl(sandbox.origin);
  const merchantId = systemRuntime.uuid();
  const connectionIds = await connectBoth(core, control, merchantId, notifications.receiver.url);
  return new CoreFixture({ core, merchantId, connectionIds, forwarder, sandbox: control, asOwner }, async () => {
    await Promise.all([notifications.receiver.close(), sandbox.close(), http.close()]);
    // A gateway notification that is still being received needs the database.
    await Promise.all(notifications.taking);
    await Promise.all([database.pool.end(), asOwner.pool.end()]);
    await testDatabase.drop();
  });
}

type FixtureParts = {
  core: Core;
  merchantId: string;
  connectionIds: readonly string[];
  forwarder: TestForwarder;
  sandbox: SandboxControl;
  asOwner: Database;
};

type AnySession = Pick<PaymentSession, "id">;

/** The steps and views of a flow test: sessions, payments, the attempt trail, the clock and the gateways' records. */
export class CoreFixture {
  readonly core: Core;
  readonly owner: SessionOwner;
  /** The connections of SANDBOX_A and SANDBOX_B, in this order. */
  readonly connectionIds: readonly string[];
  /** Reads and changes the sandbox gateways behind the connectors. */
  readonly sandbox: SandboxControl;
  /** A connection as the database's owner, which the runtime role never has. */
  readonly asOwner: Database;
  readonly #forwarder: TestForwarder;
  readonly #stop: () => Promise<void>;

  constructor(parts: FixtureParts, stop: () => Promise<void>) {
    this.core = parts.core;
    this.connectionIds = parts.connectionIds;
    this.sandbox = parts.sandbox;
    this.asOwner = parts.asOwner;
    this.#forwarder = parts.forwarder;
    this.#stop = stop;
    this.owner = {
      merchantId: parts.merchantId,
      sessionLifetimeMs: 1_800_000,
      checkoutOrigins: [],
      publishableKey: "switchyard_test_pk_1",
      statementDescriptor: null,
    };
  }

  setRule(failoverOn: readonly FailoverSwitch[], connectionIds = this.connectionIds): Promise<number> {
    const { merchantId } = this.owner;
    return this.core.database.transaction((tx) => recordRoutingRule(tx, { merchantId, connectionIds, failoverOn }));
  }

  async newSession(fields: Partial<NewSession> = {}): Promise<PaymentSession> {
    const order = { amountMinor: 4900, currency: "EUR", orderRef: `order-${systemRuntime.uuid()}`, ...fields };
    const { session } = await createSession(this.core, this.owner, order);
    return (await this.loadSession(session)).session;
  }

  async submit(session: AnySession, number: string, token = "tok_1", core = this.core): Promise<PaymentSession> {
    return this.submitWith(session, { number, token, core });
  }

  /** Submits a payment as `submit` does; with `consent` its customer has agreed, in a browser, that the card is stored. */
  async submitWith(
    session: AnySession,
    given: {
      readonly number: string;
      readonly token?: string;
      readonly core?: Core;
      readonly consent?: Consent | undefined;
      readonly shopper?: Shopper | undefined;
    },
  ): Promise<PaymentSession> {
    const { number, token = "tok_1", core = this.core, consent, shopper = consent && { browser } } = given;
    this.#forwarder.useCard(number);
    const vaultToken = new Secret(token);
    const { session: read } = await this.loadSession(session);
    return submitPayment(core, { session: read, vaultToken, signal: new AbortController().signal, consent, shopper });
  }

  /** Pays a new session, and returns it once everything that follows is done. */
  async pay(number = cards.approved, fields: Partial<NewSession> = {}): Promise<PaymentSession> {
    const session = await this.newSession(fields);
    await this.submit(session, number);
    await Promise.all(this.core.inFlight);
    return session;
  }

  /** Submits a payment with the approved card for a caller who does not wait for its outcome. */
  submitAndLeave(session: PaymentSession, core = this.core): Promise<PaymentSession> {
    this.useCard(cards.approved);
    return submitPayment(core, { session, vaultToken: new Secret("tok_1"), signal: AbortSignal.abort() });
  }

  /** Submits a new session so on another core, and returns it once no worker works on it any more. */
  async submitOn(core: Core): Promise<PaymentSession> {
    const session = await this.newSession();
    await this.submitAndLeave(session, core);
    await Promise.all(core.inFlight);
    return session;
  }

  /** Submits a payment, and returns it while it is being paid, once its gateway holds back the answer to this. */
  async pauseAt(operation: string, session: AnySession, number = cards.approved) {
    await this.sandbox.hold(operation);
    const paying = this.submit(session, number);
    await this.sandbox.paused({ operation });
    return { paying };
  }

  /** Expires the lease, as if its worker had died longer ago than the lease lasts. */
  async lapseLease({ id }: AnySession): Promise<void> {
    const text = "UPDATE payment_session SET lease_until = app.clock() - interval '1 s' WHERE id = $1";
    await this.asOwner.query({ name: "lapse", text }, [id]);
  }

  /** Sets the card that gateways get until the next submission. */
  useCard(number: string): void {
    this.#forwarder.useCard(number);
  }

  /** Sets the database's clock ahead of the true time by this many minutes. */
  setClockAhead(minutes: number): Promise<void> {
    return setClockAhead(this.asOwner, minutes);
  }

  /** Does this with the clock ahead by these minutes. */
  async after<Result>(minutes: number, work: () => Promise<Result>): Promise<Result> {
    await this.setClockAhead(minutes);
    try {
      return await work();
    } finally {
      await this.setClockAhead(0);
    }
  }

  loadSession(session: AnySession): Promise<Payment> {
    return loadSession(this.core.database, session.id);
  }

  async eventTypes({ id }: AnySession): Promise<string[]> {
    const statement = { name: "types", text: "SELECT type FROM outbox_event WHERE session_id = $1 ORDER BY sequence" };
    return (await this.core.database.query<{ type: string }>(statement, [id])).map(({ type }) => type);
  }

  /** Returns the number of captured authorizations of a session's attempts, at both acquirers together. */
  async capturedAtGateways(session: AnySession): Promise<number> {
    const { attempts } = await this.loadSession(session);
    const found = await Promise.all(attempts.map(({ id }) => this.sandbox.authorizations(encodeId("att", id))));
    return found.flat().filter(({ status }) => status === "captured").length;
  }

  async close(): Promise<void> {
    await this.sandbox.release({});
    await Promise.all(this.core.inFlight);
    await this.#stop();
  }
}

export function coreOn(
  database: Database,
  connectors: readonly Connector[],
  providers: readonly AuthenticationProvider[] = [],
): Core {
  const connectorOf = (gateway: string) => connectors.find((connector) => connector.gateway === gateway);
  const providerOf = (name: string) => providers.find(({ gateway }) => gateway === name);
  const sealing = { current: "k", keys: { k: Buffer.alloc(32, 7) } };
  return {
    database,
    hold: createHold(0),
    runtime: systemRuntime,
    log: createStrictLog(),
    tracing: untraced,
    clientSecretKeys: { letter: "t", current: 1, keys: new Map([[1, Buffer.alloc(32, 1)]]) },
    sealing,
    pageTokenKey: [new Secret("page")],
    vault: {
      origin: "https://vault.example",
      forwarding: selfHostedForwarding,
      opensSessionByCall: false,
      carriesMerchantKey: true,
      openSession: async ({ sessionId, publishableKey }) => ({
        mode: "self_hosted",
        publishableKey,
        sdkAuthorization: `grant for ${sessionId}`,
      }),
      checkToken: async () => ({ state: "unused" }),
      forget: () => {},
      stored: new MemoryVault(),
    },
    connectorOf,
    bind: createBinder({ database, ring: sealing, connectorOf }),
    providerOf,
    bindProvider: createBinder({ database, ring: sealing, connectorOf: providerOf }),
    returnUrlOf: (attempt) => `https://pay.example/authentication/test/return/${returnTokenOf({ sealing }, attempt)}`,
    circuitBreaker: new CircuitBreaker(),
    creations: new Map(),
    known: new Map(),
    outbox: { runtime: systemRuntime, environmentName: "test", publish: () => {} },
    describeSession: describeForEvent,
    timing: defaultTiming,
    inFlight: new Set(),
    renewals: new Set(),
    repeats: GatewaySlots.forRepeats(),
    sleep: (ms, signal) => pause(ms, undefined, signal && { signal }).catch(() => {}),
  };
}

export function openPool(connectionString: string, max: number): Pool {
  const pool = new Pool({ connectionString, max, options: "-c lock_timeout=5000", pipeline: true });
  // Dropping the database breaks connections that are being closed.
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

/** Receives gateway notifications, each at a path that is its connection's id, and processes them at once. */
export async function receiveNotifications(
  core: Core,
): Promise<{ receiver: Receiver; taking: ReadonlySet<Promise<void>> }> {
  const { database, sealing, connectorOf } = core;
  const receiver = await Receiver.start();
  const taking = new Set<Promise<void>>();
  const take = async ({ path, headers, body }: ReceivedRequest) => {
    const named = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
    const connectionId = path.slice(1);
    await takeNotification({ database, sealing, connectorOf }, connectionId, async () => ({ headers: named, body }));
    await processNotificationsOnce(core);
  };
  receiver.answerWith(async (request) => {
    const taken = take(request);
    taking.add(taken);
    await taken.finally(() => taking.delete(taken));
    return { status: 200 };
  });
  return { receiver, taking };
}

async function connectBoth(core: Core, sandbox: SandboxControl, merchantId: string, notificationsUrl: string) {
  const account = `test_${merchantId}`;
  const apiKey = `sandbox_${account}`;
  const connectionIds: string[] = [];
  for (const gateway of ["SANDBOX_A", "SANDBOX_B"]) {
    const connectionId = systemRuntime.uuid();
    connectionIds.push(connectionId);
    const credentials = { apiKey, merchantAccount: account, notificationHmacKey: hmacKey };
    await core.database.transaction(async (tx) => {
      await recordConnection(tx, { id: connectionId, merchantId, gateway, account });
      const credentialVersion = await stageCredentials(tx, core.sealing, { connectionId, credentials });
      await recordVerified(tx, { connectionId, credentialVersion });
    });
    await sandbox.setAccount(account, {
      notificationUrl: `${notificationsUrl}/${encodeId("gc", connectionId)}`,
      hmacKey,
    });
  }
  return connectionIds;
}
