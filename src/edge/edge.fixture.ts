/** The public and the gRPC server of an edge with one environment, on free ports, for tests of the surfaces. */
import type { AddressInfo } from "node:net";
import { Pool } from "pg";
import { CheckoutService } from "../../gen/payments/v1/checkout_pb.ts";
import { generateKey, type KeyKind, recordKey } from "../accounts/api-keys.ts";
import { recordSettings } from "../accounts/merchant-settings.ts";
import { createMerchant } from "../accounts/merchants.ts";
import type { Core } from "../core/core.ts";
import type { SessionOwner } from "../core/create-session.ts";
import { type CoreFixture, startCoreFixture } from "../core/scenarios/core.fixture.ts";
import { requireDocumented } from "../dev/testing/edge/documented-answers.ts";
import { createTestDatabase } from "../dev/testing/postgres.ts";
import { createCountedClientOf, createForwardingOf, createPublicAddressOf } from "../platform/client-address.ts";
import { Database } from "../platform/database.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { createAuthenticate } from "./authenticate.ts";
import type { EdgeEnvironment } from "./caller.ts";
import { createCheckoutService } from "./checkout-rpc.ts";
import type { EdgeParts } from "./edge-parts.ts";
import { createPublicServer } from "./public-server.ts";
import { AppleSessions } from "./wallets/start-wallet-session.ts";

export type EdgeKeys = { readonly secret: string; readonly publishable: string };

export async function startEdgeFixture(): Promise<EdgeFixture> {
  const core = await startCoreFixture();
  const accounts = await createTestDatabase("accounts");
  const pool = new Pool({ connectionString: accounts.url, max: 2, pipeline: true });
  pool.on("error", () => {});
  const environment: EdgeEnvironment = {
    name: "test",
    cell: 1,
    core: core.core,
    database: core.core.database,
    reads: core.core.database,
    requestLimits: undefined,
    anyOriginWhenNoneRegistered: true,
    takeNotification: async (_connectionId, read) => void (await read()),
  };
  const bugs: unknown[] = [];
  const accountsDatabase = new Database(pool);
  await createMerchant(accountsDatabase, { id: core.owner.merchantId, name: "Corner Coffee" });
  const parts = partsOf(environment, accountsDatabase, bugs);
  const { port, close } = await listen(parts);
  return new EdgeFixture({ core, keys: await makeKeys(core.core, core.owner), bugs, port, parts }, async () => {
    await close();
    await core.close();
    await pool.end();
    await accounts.drop();
    if (bugs.length > 0) throw new AggregateError(bugs, "handlers have failed unexpectedly");
  });
}

async function listen(parts: EdgeParts) {
  const server = createPublicServer(parts);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { port, close };
}

/**
 * An edge as a test calls it: over REST with its merchant's key, and every answer is checked against the OpenAPI
 * document.
 */
export class EdgeFixture {
  readonly core: CoreFixture;
  readonly keys: EdgeKeys;
  /** Unexpected errors of handlers; `close` throws if any is left. */
  readonly bugs: unknown[];
  readonly port: number;
  readonly parts: EdgeParts;
  readonly close: () => Promise<void>;

  constructor(made: Pick<EdgeFixture, "core" | "keys" | "bugs" | "port" | "parts">, close: () => Promise<void>) {
    this.core = made.core;
    this.keys = made.keys;
    this.bugs = made.bugs;
    this.port = made.port;
    this.parts = made.parts;
    this.close = close;
  }

  /** Starts the equivalent of a second process: other memory and other connections over the same database. */
  async startAnother(): Promise<EdgeFixture> {
    const { core } = this.core;
    const { max, options, connectionString } = core.database.pool.options;
    const database = new Database(new Pool({ max, options, connectionString, pipeline: true }));
    await database.namePartitions();
    const memory: Pick<Core, "creations" | "known"> = { creations: new Map(), known: new Map() };
    const environment = { ...this.parts.environments.test!, database, core: { ...core, database, ...memory } };
    const environments = { test: environment };
    const parts = { ...this.parts, environments, authenticate: createAuthenticate(environments, "switchyard") };
    const { port, close } = await listen(parts);
    const { core: fixture, keys, bugs } = this;
    return new EdgeFixture({ core: fixture, keys, bugs, port, parts }, async () => {
      await close();
      await database.pool.end();
    });
  }

  addMerchant(): Promise<EdgeKeys> {
    return makeKeys(this.core.core, { ...this.core.owner, merchantId: systemRuntime.uuid() });
  }

  /**
   * Sends a request under /api/v1 with the secret key, unless `headers` says otherwise. Its answer is as documented.
   */
  async call(
    method: string,
    path: string,
    options: { body?: string | Uint8Array<ArrayBuffer>; headers?: Record<string, string> } = {},
  ) {
    const target = `/api/v1${path}`;
    const response = await fetch(`http://127.0.0.1:${this.port}${target}`, {
      method,
      headers: {
        authorization: `Bearer ${this.keys.secret}`,
        ...(options.body !== undefined && { "content-type": "application/json" }),
        ...options.headers,
      },
      ...(options.body !== undefined && { body: options.body }),
    });
    const text = await response.text();
    const { status, headers } = response;
    requireDocumented({ method, target, status, headers, text });
    return {
      status,
      headers,
      text,
      json: text === "" ? undefined : JSON.parse(text),
    };
  }
}

function partsOf(environment: EdgeEnvironment, accounts: Database, bugs: unknown[]): EdgeParts {
  const environments = { test: environment };
  const checkout = createCheckoutService({
    accounts,
    apiOrigin: "https://pay.example",
    appleSessions: new AppleSessions({ sandboxOrigin: undefined }),
  });
  return {
    environments,
    runtime: systemRuntime,
    authenticate: createAuthenticate(environments, "switchyard"),
    customerAddressOf: createPublicAddressOf(["127.0.0.1"]),
    apiOrigin: "https://pay.example",
    clientOf: createCountedClientOf(["127.0.0.1"]),
    forwardingOf: createForwardingOf(["127.0.0.1"]),
    style: { brand: "switchyard", errorDocsUrl: "https://docs.example/errors" },
    reportBug: (error) => bugs.push(error),
    meta: { brand: "switchyard", version: "1.2.3", now: () => new Date("2026-01-02T03:04:05.600Z") },
    routeCheckout: (router) => router.service(CheckoutService, checkout),
    guestServices: { services: [], route: () => {} },
    widgetFiles: new Map([["/widget/v1/widget.js", { contentType: "text/javascript", bytes: Buffer.from("1") }]]),
    authenticationPages: {
      files: new Map(),
      styleSource: "'sha256-style'",
      render: (name, { embedders = [] }) => [name, ...embedders].join(" "),
    },
    recoveryPage: { files: new Map(), styleSource: "'sha256-style'", render: () => "a link's page" },
    merchantNameOf: async () => "Example Shop",
    isReady: async () => true,
    draining: new AbortController().signal,
    stopping: new AbortController().signal,
  };
}

async function makeKeys(core: Core, owner: SessionOwner): Promise<EdgeKeys> {
  const keyOf = (kind: KeyKind) => generateKey(systemRuntime, { brand: "switchyard", environment: "test", kind });
  const [secret, publishable] = [keyOf("secret"), keyOf("publishable")];
  await core.database.transaction(async (tx) => {
    const { merchantId } = owner;
    await recordKey(tx, { id: systemRuntime.uuid(), merchantId, kind: "secret", secret });
    await recordKey(tx, { id: systemRuntime.uuid(), merchantId, kind: "publishable", secret: publishable });
    await recordSettings(tx, { ...owner, publishableKey: publishable.expose() });
  });
  return { secret: secret.expose(), publishable: publishable.expose() };
}
