/**
 * Gateways whose answers prove nothing, reached through an external vault's proxy: none is trusted, and none is a
 * decline.
 */

import { Pool } from "pg";
import { beforeEach, describe, expect, it } from "vitest";
import { brokenAnswers, otherMoney, silences } from "../../dev/testing/broken-answers.ts";
import { VaultEmulatorProcess } from "../../dev/testing/external-vault/vault-emulator-process.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import { approvedCard, type GatewayHarness, startGatewayHarness } from "../../dev/testing/gateway-harness.ts";
import { createTestDatabase } from "../../dev/testing/postgres.ts";
import { createStrictLog } from "../../dev/testing/strict-log.ts";
import { unreachableOrigins } from "../../dev/testing/unreachable-origins.ts";
import { SandboxBConnector } from "../../gateways/sandbox/b/connector.ts";
import { Database } from "../../platform/database.ts";
import { encodeId } from "../../platform/ids.ts";
import { GatewayHttp } from "../../platform/outbound-http.ts";
import { systemRuntime } from "../../platform/runtime.ts";
import { Secret } from "../../platform/secrets.ts";
import { SaasVault } from "./external-vault.ts";

const [emulator, testDatabase] = await Promise.all([
  forFile(() => VaultEmulatorProcess.start()),
  forFile(() => createTestDatabase("environment"), "drop"),
]);
const pool = await forFile(() => new Pool({ connectionString: testDatabase.url, max: 2 }), "end");
const http = await forFile(() => new GatewayHttp());
const vault = new SaasVault({
  database: new Database(pool),
  http,
  settings: emulator.settings,
  environment: "test",
  // An unreachable host has to be allowed first.
  emulatorHosts: ["gateway.invalid"],
  log: createStrictLog(),
  nowMs: () => Date.now(),
});
const id = systemRuntime.uuid();
const { sdkAuthorization = "" } = await vault.openSession({
  sessionId: id,
  merchantId: systemRuntime.uuid(),
  publishableKey: "switchyard_test_pk_1",
  checkoutOrigins: [],
  expiresAt: new Date(Date.now() + 600_000),
});
const sessionId = encodeId("ps", id);
const vaultToken = new Secret(await emulator.tokenize(sdkAuthorization, approvedCard));
const harness = await forFile(() =>
  startGatewayHarness({
    connect: (parts) => new SandboxBConnector({ ...parts, forwarder: vault }),
    credentials: {
      apiKey: new Secret("sandbox_test_conformance"),
      merchantAccount: new Secret("test_conformance"),
    },
  }),
);
beforeEach(() => harness.spoilWith((honest) => honest));

const authorize = async (change: { timeoutMs?: number; connector?: GatewayHarness["connector"] } = {}) => {
  const payment = harness.newPayment({ sessionId, vaultToken });
  const call = harness.call(payment.attemptReference, change.timeoutMs);
  return (change.connector ?? harness.connector).authorize(call, payment);
};

describe("a gateway behind an external vault", () => {
  it("holds, and the vault returns the card summary", async () => {
    expect(await authorize()).toMatchObject({ outcome: { type: "held" }, card: { brand: "visa", last4: "4242" } });
  });

  it.each(Object.entries({ ...brokenAnswers, ...otherMoney }))("is not trusted for %s", async (_, spoil) => {
    harness.spoilWith(spoil);
    const { outcome } = await authorize();
    expect(outcome).toMatchObject({ type: "unknown", kind: "GATEWAY_ERROR" });
    expect(outcome).not.toHaveProperty("lostAtVault");
  });

  // The emulator reads a flood for 30 s, as the vault would, and during that time this process only writes it.
  const { "interim answers without end": _flood, ...quiet } = silences;
  it.each(Object.entries(quiet))("is a timeout after %s", async (_, spoil) => {
    harness.spoilWith(spoil);
    expect((await authorize({ timeoutMs: 400 })).outcome).toMatchObject({ type: "unknown", kind: "TIMEOUT" });
  });

  it.each(Object.entries(unreachableOrigins))(
    "may have been reached, as far as the proxy reports, at %s",
    async (_, origin) => {
      const connector = harness.connectTo(await origin(harness.middle.url));
      const { outcome } = await authorize({ connector, timeoutMs: 5_000 });
      expect(outcome).toMatchObject({ type: "unknown" });
    },
  );

  it("is trusted when it documents that it did nothing", async () => {
    harness.spoilWith(() => ({ status: 429, body: '{"status":429,"errorCode":"too_many"}' }));
    expect((await authorize()).outcome).toMatchObject({ type: "notProcessed", cause: "rate_limited" });
  });

  it.each<[string, { origin?: string; headers?: Record<string, string> }]>([
    ["at a host that is none of its own", { origin: "https://collector.example" }],
    ["with a placeholder in a header", { headers: { reference: "{{$card_number}}" } }],
    ["with a header that changes how it is read", { headers: { "content-encoding": "gzip" } }],
  ])("is sent nothing %s", async (_, change) => {
    const { proxied } = await emulator.record();
    const { reply } = await vault.forward({
      connector: "SANDBOX_B",
      operation: "authorize",
      token: vaultToken,
      sessionId,
      origin: harness.middle.url,
      pathVariables: {},
      headers: {},
      body: JSON.stringify({ paymentMethod: { number: "{{card.number}}" } }),
      timeoutMs: 5_000,
      ...change,
    });
    expect(reply).toMatchObject({ type: "neverSent", cause: "request_refused" });
    expect((await emulator.record()).proxied).toHaveLength(proxied.length);
  });

  it("sends no echoed card number beyond our process", async () => {
    harness.spoilWith(({ status, body }) => ({
      status,
      body: JSON.stringify({ ...JSON.parse(body), echo: approvedCard, note: `card ${approvedCard}` }),
    }));
    const payment = harness.newPayment({ sessionId, vaultToken });
    const { reply } = await vault.forward({
      connector: "SANDBOX_B",
      operation: "authorize",
      token: vaultToken,
      sessionId,
      origin: harness.middle.url,
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
