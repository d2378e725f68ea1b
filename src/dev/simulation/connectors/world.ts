/**
 * Two processes of the service on one database, with the real connectors of STRIPE, ADYEN and PAYPAL over HTTP to their
 * emulators.
 */
import type { Core } from "../../../core/core.ts";
import type { SessionOwner } from "../../../core/create-session.ts";
import { recordRoutingRule } from "../../../core/record/routing-rules.ts";
import { coreOn, openPool, receiveNotifications } from "../../../core/scenarios/core.fixture.ts";
import { replaced } from "../../../core/scenarios/recovery.fixture.ts";
import { AdyenConnector } from "../../../gateways/adyen/connector.ts";
import { recordConnection, recordVerified, stageCredentials } from "../../../gateways/connections.ts";
import type { Connector, GatewayCall } from "../../../gateways/connector.ts";
import { PayPalConnector } from "../../../gateways/paypal/connector.ts";
import { StripeConnector } from "../../../gateways/stripe/connector.ts";
import { Database } from "../../../platform/database.ts";
import { encodeId } from "../../../platform/ids.ts";
import { GatewayHttp } from "../../../platform/outbound-http.ts";
import { systemRuntime } from "../../../platform/runtime.ts";
import type { FaultPlan } from "../../../sandbox/faults.ts";
import { type Sandbox, startSandbox } from "../../../sandbox/main.ts";
import { setClockAhead } from "../../testing/database-clock.ts";
import { emulatorAccounts, notificationKey } from "../../testing/emulator-accounts.ts";
import { TestForwarder } from "../../testing/forwarder.ts";
import { createTestDatabase, type TestDatabase } from "../../testing/postgres.ts";
import { SandboxControl } from "../../testing/sandbox-control.ts";
import { setRetryCards } from "../retry-cards.ts";

export const realGateways = ["STRIPE", "ADYEN", "PAYPAL"] as const;
export type RealGateway = (typeof realGateways)[number];

/** Changes a connector, so that a test sees the damage detected. */
export type Breaking = (connector: Connector) => Connector;

// The time of a call, in place of ten seconds: an emulator on the same machine answers in a few milliseconds, and
// delayed requests wait until the run releases them.
const callMs = 400;
// If there are no delays, only a busy machine makes a call slow.
const calmCallMs = 5_000;

// Silence is longer than any call. A search that lags behind follows the clock, so this only has to be longer than a
// run.
const delays = {
  silenceMs: 2 * callMs,
  lateMs: 2 * callMs,
  slowCaptureMs: 2 * callMs,
  overdueCaptureMs: 3 * callMs,
  searchLagMs: 600_000,
};

/** The state that payments of a run share, with its own clock. Make it with `openWorld`, close it at the end. */
export class World {
  readonly databaseUrl: string;
  readonly asOwner: Database;
  readonly control: SandboxControl;
  readonly processes: readonly [Core, Core];
  readonly owner: SessionOwner;
  /** The times to which the clock was moved: a process that was away for hours ends a payment only then. */
  readonly clockMovedAt: string[] = [];
  readonly #testDatabase: TestDatabase;
  readonly #sandbox: Sandbox;
  readonly #http = new GatewayHttp();
  readonly #forwarder = new TestForwarder(this.#http, "4242424242424242");
  #connectionIds!: Readonly<Record<RealGateway, string>>;
  #notifications!: Awaited<ReturnType<typeof receiveNotifications>>;
  #aheadMs = 0;
  #callMs = calmCallMs;

  constructor(parts: { testDatabase: TestDatabase; sandbox: Sandbox; breaking: Breaking }) {
    this.#testDatabase = parts.testDatabase;
    this.#sandbox = parts.sandbox;
    this.databaseUrl = parts.testDatabase.url;
    this.asOwner = new Database(openPool(parts.testDatabase.ownerUrl, 2));
    this.control = new SandboxControl(parts.sandbox.origin);
    this.processes = [this.#startProcess(parts.breaking), this.#startProcess(parts.breaking)];
    const merchantId = systemRuntime.uuid();
    this.owner = {
      merchantId,
      sessionLifetimeMs: 1_800_000,
      checkoutOrigins: [],
      publishableKey: "switchyard_test_pk_1",
      statementDescriptor: null,
    };
  }

  /** Connects the merchant's accounts, once. */
  async connect(): Promise<void> {
    this.#notifications = await receiveNotifications(this.processes[1]);
    const ids = { STRIPE: systemRuntime.uuid(), ADYEN: systemRuntime.uuid(), PAYPAL: systemRuntime.uuid() };
    const { database, sealing } = this.processes[0];
    for (const gateway of realGateways) {
      const connectionId = ids[gateway];
      const account = `test_connectors${gateway.toLowerCase()}`;
      const credentials = emulatorAccounts[gateway].credentials(account);
      await database.transaction(async (tx) => {
        await recordConnection(tx, { id: connectionId, merchantId: this.owner.merchantId, gateway, account });
        const credentialVersion = await stageCredentials(tx, sealing, { connectionId, credentials });
        await recordVerified(tx, { connectionId, credentialVersion });
      });
      const notificationUrl = `${this.#notifications.receiver.url}/${encodeId("gc", connectionId)}`;
      if (gateway === "ADYEN") await this.control.setAccount(account, { notificationUrl, hmacKey: notificationKey });
    }
    this.#connectionIds = ids;
    await setRetryCards(this.control);
  }

  useCard(number: string): void {
    this.#forwarder.useCard(number);
  }

  /**
   * Makes new sessions use these gateways, in this order, with failover wherever it is allowed, and perhaps with a retry at
   * the same gateway.
   */
  async setRule(gateways: readonly RealGateway[], retriesSameGateway: boolean): Promise<void> {
    const { merchantId } = this.owner;
    const connectionIds = gateways.map((gateway) => this.#connectionIds[gateway]);
    const failoverOn = ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"] as const;
    await this.processes[0].database.transaction((tx) =>
      recordRoutingRule(tx, { merchantId, connectionIds, failoverOn, retriesSameGateway }),
    );
  }

  /** Sets faults by this plan; without a plan it ends all faults and releases waiting requests. */
  async setFaults(plan?: FaultPlan): Promise<void> {
    this.#callMs = plan === undefined ? calmCallMs : callMs;
    await this.control.setFaults(plan);
    if (plan === undefined) await this.control.release();
  }

  /** Sets the time of the database, of both processes and of the emulators. */
  async setClockAhead(ms: number): Promise<void> {
    this.#aheadMs = ms;
    this.clockMovedAt.push(new Date(Date.now() + ms).toISOString());
    await Promise.all([setClockAhead(this.asOwner, ms / 60_000), this.control.setClockAhead(ms)]);
    await this.control.release({ operation: "stripe.search-index" });
  }

  async idle(): Promise<void> {
    while (this.processes.some(({ inFlight }) => inFlight.size > 0)) {
      await Promise.all(this.processes.flatMap(({ inFlight }) => [...inFlight]));
    }
  }

  async close(): Promise<void> {
    await this.setFaults();
    await this.idle();
    await Promise.all([this.#notifications.receiver.close(), this.#sandbox.close(), this.#http.close()]);
    // A notification that is being processed still needs the database.
    await Promise.all(this.#notifications.taking);
    await Promise.all([...this.processes, { database: this.asOwner }].map(({ database }) => database.pool.end()));
    await this.#testDatabase.drop();
  }

  #startProcess(breaking: Breaking): Core {
    const nowMs = () => Date.now() + this.#aheadMs;
    const { origin } = this.#sandbox;
    const parts = { http: this.#http, forwarder: this.#forwarder, origin, environment: "test", nowMs } as const;
    const connectors = [new StripeConnector(parts), new AdyenConnector(parts), new PayPalConnector(parts)];
    const short = connectors.map((connector) => withShortCalls(breaking(connector), () => this.#callMs));
    const core = coreOn(new Database(openPool(this.databaseUrl, 8)), short);
    return { ...core, timing: { ...core.timing, attemptTimeoutMs: calmCallMs } };
  }
}

/** Opens a world with its merchant; `breaking` changes its connectors. */
export async function openWorld(breaking: Breaking = (connector) => connector): Promise<World> {
  const testDatabase = await createTestDatabase("environment");
  const world = new World({ testDatabase, sandbox: await startSandbox({ port: 0, ...delays }), breaking });
  await world.connect();
  return world;
}

/** Returns the same connector with calls limited to this world's timeout. */
function withShortCalls(connector: Connector, longestMs: () => number): Connector {
  const short = <Call extends GatewayCall>(call: Call): Call => ({
    ...call,
    timeoutMs: Math.min(call.timeoutMs, longestMs()),
  });
  const { authentication } = connector;
  return replaced(connector, {
    ...(authentication && {
      authentication: {
        ...authentication,
        complete: (call, ...rest) => authentication.complete(short(call), ...rest),
        ...(authentication.askAction && {
          askAction: (call, ...rest) => authentication.askAction!(short(call), ...rest),
        }),
      },
    }),
    authorize: (call, request) => connector.authorize(short(call), request),
    capture: (call, hold) => connector.capture(short(call), hold),
    void: (call, attempt) => connector.void(short(call), attempt),
    lookUp: (call, attempt) => connector.lookUp(short(call), attempt),
  });
}
