/** Gateways whose answers prove nothing, by way of an external vault's proxy: none of them is believed, and none is a decline. */
import { Pool } from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Database } from "../../platform/database.ts";
import { systemEntropy } from "../../platform/entropy.ts";
import { encodeId } from "../../platform/ids.ts";
import { Secret } from "../../platform/secrets.ts";
import { brokenAnswers, otherMoney, silences } from "../../testing/broken-answers.ts";
import { approvedCard, type GatewayBench, startGatewayBench } from "../../testing/gateway-bench.ts";
import { createTestDatabase, type TestDatabase } from "../../testing/postgres.ts";
import { VaultStandInProcess } from "../../testing/saas-vault/vault-stand-in-process.ts";
import { createStrictLog } from "../../testing/strict-log.ts";
import { unreachableOrigins } from "../../testing/unreachable-origins.ts";
import { GatewayHttp } from "../gateway-http.ts";
import { SandboxBConnector } from "../sandbox/b/connector.ts";
import { SaasVault } from "./saas-vault.ts";

let standIn: VaultStandInProcess;
let testDatabase: TestDatabase;
let pool: Pool;
let http: GatewayHttp;
let vault: SaasVault;
let bench: GatewayBench;
let sessionId: string;
let vaultToken: Secret;

beforeAll(async () => {
  [standIn, testDatabase] = await Promise.all([VaultStandInProcess.start(), createTestDatabase("environment")]);
  pool = new Pool({ connectionString: testDatabase.url, max: 2 });
  http = new GatewayHttp();
  vault = new SaasVault({
    database: new Database(pool),
    http,
    settings: standIn.settings,
    environment: "test",
    // What cannot be reached has to be allowed first.
    standInHosts: ["gateway.invalid"],
    log: createStrictLog(),
    nowMs: () => Date.now(),
  });
  const id = systemEntropy.uuid();
  const { sdkAuthorization = "" } = await vault.describe({
    sessionId: id,
    merchantId: systemEntropy.uuid(),
    publishableKey: "switchyard_test_pk_1",
    checkoutOrigins: [],
    expiresAt: new Date(Date.now() + 600_000),
  });
  sessionId = encodeId("ps", id);
  vaultToken = new Secret(await standIn.tokenize(sdkAuthorization, approvedCard));
  bench = await startGatewayBench({
    connect: (parts) => new SandboxBConnector({ ...parts, forwarder: vault }),
    credentials: {
      apiKey: new Secret("sandbox_test_conformance"),
      merchantAccount: new Secret("test_conformance"),
    },
  });
});
beforeEach(() => bench.spoilWith((honest) => honest));
afterAll(async () => {
  await bench?.close();
  await standIn?.close();
  await http?.close();
  await pool?.end();
  await testDatabase?.drop();
});

const authorize = async (change: { timeoutMs?: number; connector?: GatewayBench["connector"] } = {}) => {
  const payment = bench.newPayment({ sessionId, vaultToken });
  const call = bench.call(payment.attemptReference, change.timeoutMs);
  return (change.connector ?? bench.connector).authorize(call, payment);
};

describe("a gateway behind an external vault", () => {
  it("holds, and the vault tells what may be shown of the card", async () => {
    expect(await authorize()).toMatchObject({ outcome: { type: "held" }, card: { brand: "visa", last4: "4242" } });
  });

  it.each(Object.entries({ ...brokenAnswers, ...otherMoney }))("is not believed for %s", async (_, spoil) => {
    bench.spoilWith(spoil);
    const { outcome } = await authorize();
    expect(outcome).toMatchObject({ type: "unknown", kind: "GATEWAY_ERROR" });
    expect(outcome).not.toHaveProperty("lostAtVault");
  });

  // The stand-in reads a flood for 30 s, as the vault would, and so long this process does nothing but write it.
  const { "interim answers without end": _flood, ...quiet } = silences;
  it.each(Object.entries(quiet))("is a timeout after %s", async (_, spoil) => {
    bench.spoilWith(spoil);
    expect((await authorize({ timeoutMs: 400 })).outcome).toMatchObject({ type: "unknown", kind: "TIMEOUT" });
  });

  it.each(Object.entries(unreachableOrigins))(
    "may have been reached, for all that the proxy tells, at %s",
    async (_, origin) => {
      const connector = bench.connectTo(await origin(bench.middle.url));
      const { outcome } = await authorize({ connector, timeoutMs: 5_000 });
      expect(outcome).toMatchObject({ type: "unknown" });
    },
  );

  it("is believed where it documents that it did nothing", async () => {
    bench.spoilWith(() => ({ status: 429, body: '{"status":429,"errorCode":"too_many"}' }));
    expect((await authorize()).outcome).toMatchObject({ type: "notProcessed", cause: "rate_limited" });
  });

  it.each<[string, { origin?: string; headers?: Record<string, string> }]>([
    ["at a host that is none of its own", { origin: "https://collector.example" }],
    ["with a placeholder in a header", { headers: { reference: "{{$card_number}}" } }],
    ["with a header that changes how it is read", { headers: { "content-encoding": "gzip" } }],
  ])("is sent nothing %s", async (_, change) => {
    const { proxied } = await standIn.record();
    const { reply } = await vault.forward({
      connector: "SANDBOX_B",
      operation: "authorize",
      token: vaultToken,
      sessionId,
      origin: bench.middle.url,
      pathVariables: {},
      headers: {},
      body: JSON.stringify({ paymentMethod: { number: "{{card.number}}" } }),
      timeoutMs: 5_000,
      ...change,
    });
    expect(reply).toMatchObject({ type: "neverSent", cause: "request_refused" });
    expect((await standIn.record()).proxied).toHaveLength(proxied.length);
  });

  it("echoes no card number further than to us", async () => {
    bench.spoilWith(({ status, body }) => ({
      status,
      body: JSON.stringify({ ...JSON.parse(body), echo: approvedCard, note: `card ${approvedCard}` }),
    }));
    const payment = bench.newPayment({ sessionId, vaultToken });
    const { reply } = await vault.forward({
      connector: "SANDBOX_B",
      operation: "authorize",
      token: vaultToken,
      sessionId,
      origin: bench.middle.url,
      pathVariables: {},
      headers: { "x-api-key": "sandbox_test_conformance" },
      body: JSON.stringify({
        merchantAccount: "test_conformance",
        reference: payment.attemptReference,
        amount: { value: 4900, currency: "EUR" },
        additionalData: { manualCapture: "true" },
        paymentMethod: { type: "scheme", number: "{{card.number}}" },
      }),
      timeoutMs: 5_000,
    });
    const text = reply.type === "answer" ? new TextDecoder().decode(reply.body) : "";
    expect(text).toContain('"echo":"************4242","note":"card ************4242"');
    expect(text).not.toContain(approvedCard);
  });
});
