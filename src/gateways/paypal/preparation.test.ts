import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { encodeId } from "../../platform/ids.ts";
import { Secret } from "../../platform/secrets.ts";
import { type GatewayBench, startGatewayBench } from "../../testing/gateway-bench.ts";
import type { CardForwarder } from "../card-forwarder.ts";
import { findCredentialProblems } from "../check-credentials.ts";
import type { VerifyRow } from "../connector.ts";
import type { PayPalParts } from "./api.ts";
import { PayPalConnector } from "./connector.ts";
import { mayBeForgotten } from "./key-life.ts";

const subject = {
  connect: (parts: PayPalParts) => new PayPalConnector(parts),
  credentials: {
    clientId: new Secret("ClientOfPreparation_test_preparation"),
    clientSecret: new Secret("SecretOfPreparation0"),
  },
  specs: ["paypal-orders", "paypal-payments"],
  unlisted: [/^POST \/v1\/oauth2\/token$/],
} as const;

const hourMs = 60 * 60 * 1_000;

/** The reference of an attempt whose session was made at this time. */
function referenceOf(madeAtMs: number): string {
  const time = madeAtMs.toString(16).padStart(12, "0");
  return encodeId("att", `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`);
}

let bench: GatewayBench;
beforeAll(async () => {
  bench = await startGatewayBench({ ...subject, spoils: /^POST \/v2\/checkout\/orders$/ });
});
afterAll(() => bench.close());

describe("PayPalConnector's preparations", () => {
  it.each([
    ["a reset", () => "reset" as const],
    ["an empty answer", ({ status }: { status: number }) => ({ status, body: "" })],
    ["an HTML page", () => ({ status: 201, headers: { "content-type": "text/html" }, body: "<html>" })],
    ["an error", () => ({ status: 500, body: '{"name":"INTERNAL_SERVER_ERROR"}' })],
    [
      "another reference",
      ({ status, body }: { status: number; body: string }) => ({
        status,
        body: body.replaceAll("att_bench", "att_other"),
      }),
    ],
    [
      "another amount",
      ({ status, body }: { status: number; body: string }) => ({ status, body: body.replaceAll("49.00", "4.90") }),
    ],
  ])("authorize nothing after %s", async (_, spoil) => {
    const payment = bench.newPayment();
    bench.spoilWith(spoil);
    const { outcome } = await bench.connector.authorize(bench.call(payment.attemptReference), payment);
    bench.spoilWith((honest) => honest);
    expect(outcome).toMatchObject({ type: "unknown", kind: "GATEWAY_ERROR" });
    expect(bench.middle.requests.filter(({ path }) => path.endsWith("/authorize"))).toEqual([]);
    expect(await bench.sandbox.authorizations(payment.attemptReference)).toEqual([]);
  });

  it("send nothing at all without a token, which is provably nothing", async () => {
    const asked = bench.middle.requests.length;
    bench.replaceWith(({ path }) => (path === "/v1/oauth2/token" ? { status: 503, body: "" } : undefined));
    const connector = bench.connectTo(bench.middle.url);
    const payment = bench.newPayment();
    const { outcome } = await connector.authorize(bench.call(payment.attemptReference), payment);
    bench.replaceWith(() => undefined);
    expect(outcome).toMatchObject({ type: "notProcessed", cause: "connection_refused" });
    expect(bench.middle.requests.slice(asked).map(({ path }) => path)).toEqual(["/v1/oauth2/token"]);
  });

  it("do not authorize when they took nearly all the time there was", async () => {
    const payment = bench.newPayment();
    let nowMs = 0;
    bench.spoilWith((honest) => {
      nowMs = 9_100;
      return honest;
    });
    const parts = {
      http: bench.http,
      forwarder: bench.forwarder,
      origin: bench.middle.url,
      environment: "test",
    } as const;
    const connector = subject.connect({ ...parts, nowMs: () => nowMs });
    const { outcome } = await connector.authorize(bench.call(payment.attemptReference, 10_000), payment);
    bench.spoilWith((honest) => honest);
    expect(outcome).toMatchObject({
      type: "unknown",
      kind: "TIMEOUT",
      gatewayReference: expect.stringMatching(/^order_/),
    });
    expect(await bench.sandbox.authorizations(payment.attemptReference)).toEqual([]);
  });
});

describe("PayPalConnector.void()", () => {
  const { attemptReference: _, ...rest } = { attemptReference: "", amountMinor: 4900, currency: "EUR" };

  it("asks for the order in the words of its creation, and for none whose key may be forgotten", async () => {
    // Its session is of yesterday, and so is the time in its id.
    const payment = { ...bench.newPayment(), attemptReference: referenceOf(Date.now() - 20 * hourMs) };
    await bench.connector.authorize(bench.call(payment.attemptReference), payment);
    const { attemptReference, orderRef } = payment;
    const startedAt = new Date();
    expect(await bench.connector.void(bench.call("v1"), { ...rest, attemptReference, orderRef, startedAt })).toEqual({
      type: "done",
    });
    const creations = bench.middle.requests.filter(
      ({ path, body }) => path === "/v2/checkout/orders" && body.toString().includes(attemptReference),
    );
    expect(creations.map(({ body }) => body.toString())).toEqual(Array(2).fill(creations[0]?.body.toString()));
    const old = { attemptReference: bench.newPayment().attemptReference, startedAt: new Date(Date.now() - 6 * hourMs) };
    const asked = bench.middle.requests.length;
    expect(await bench.connector.void(bench.call("v2"), { ...rest, ...old })).toMatchObject({
      type: "unknown",
      kind: "GATEWAY_ERROR",
    });
    expect(bench.middle.requests).toHaveLength(asked);
  });

  it("leaves it open where PayPal does not name the order", async () => {
    const attempt = { ...rest, attemptReference: bench.newPayment().attemptReference };
    bench.spoilWith(() => ({
      status: 422,
      body: '{"name":"UNPROCESSABLE_ENTITY","details":[{"issue":"PAYEE_ACCOUNT_RESTRICTED"}]}',
    }));
    expect(await bench.connector.void(bench.call("v1"), attempt)).toEqual({
      type: "refused",
      definitive: false,
      gatewayCode: "PAYEE_ACCOUNT_RESTRICTED",
    });
    bench.spoilWith(() => "reset");
    expect(await bench.connector.void(bench.call("v2"), attempt)).toMatchObject({ type: "unknown" });
    bench.spoilWith((honest) => honest);
  });
});

describe("mayBeForgotten()", () => {
  it("trusts the key of an order for less than six hours, and takes an attempt without a start for a new one", () => {
    const madeAtMs = Date.parse("2026-03-01T12:00:00Z");
    const attempt = { startedAt: new Date(madeAtMs) };
    expect(mayBeForgotten(attempt, madeAtMs)).toBe(false);
    expect(mayBeForgotten(attempt, madeAtMs + 5 * hourMs)).toBe(false);
    expect(mayBeForgotten(attempt, madeAtMs + 6 * hourMs)).toBe(true);
    expect(mayBeForgotten({}, madeAtMs)).toBe(false);
  });
});

describe("PayPalConnector.verify()", () => {
  const stateOf = (rows: readonly VerifyRow[], check: VerifyRow["check"]) => rows.find((row) => row.check === check);

  it("sends its test card by way of the vault, voids what the sandbox approves, and says where the vault does not send it", async () => {
    const sent = bench.forwarder.requests.length;
    const rows = await bench.connector.verify(bench.call(""));
    expect(rows.map(({ state }) => state)).toEqual(Array(5).fill("passed"));
    const [probe] = bench.forwarder.requests.slice(sent);
    expect(JSON.parse(probe!.body).payment_source.card.number).toBe("{{card.number}}");
    const probes = (await bench.sandbox.authorizations()).filter(({ reference }) => reference.startsWith("verify_"));
    expect(probes).toMatchObject([{ status: "voided" }]);
    const reply = { type: "neverSent", cause: "vault_unavailable", reason: "no connection to the vault" } as const;
    const forwarder: CardForwarder = { forward: async () => ({ reply }) };
    const parts = { http: bench.http, forwarder, origin: bench.middle.url, environment: "test" } as const;
    const withoutVault = await subject.connect(parts).verify(bench.call(""));
    expect(stateOf(withoutVault, "raw_cards")).toMatchObject({
      state: "failed",
      detail: expect.stringContaining("no connection"),
    });
  });

  it("asks with the credentials as of now, whatever token there is, and tells which right is missing", async () => {
    await bench.connector.verify(bench.call(""));
    bench.replaceWith(({ path }) =>
      path === "/v1/oauth2/token" ? { status: 401, body: '{"error":"invalid_client"}' } : undefined,
    );
    const revoked = await bench.connector.verify(bench.call(""));
    bench.replaceWith(() => undefined);
    expect(stateOf(revoked, "credentials")).toMatchObject({ state: "failed" });
    await bench.sandbox.setAccount("test_preparation", { manualCapture: false });
    const rows = await bench.connector.verify(bench.call(""));
    await bench.sandbox.setAccount("test_preparation", { manualCapture: true });
    expect(stateOf(rows, "raw_cards")).toMatchObject({ state: "passed" });
    expect(stateOf(rows, "manual_capture")).toMatchObject({ state: "failed" });
  });

  it("sends no card to an account of the other environment", async () => {
    const sent = bench.forwarder.requests.length;
    const rows = await bench.connectTo(bench.middle.url, "live").verify(bench.call(""));
    expect(stateOf(rows, "environment")).toMatchObject({ state: "failed" });
    expect(bench.forwarder.requests).toHaveLength(sent);
  });

  it("fails where the test payment cannot be given back", async () => {
    bench.replaceWith(({ path }) => (path.endsWith("/void") ? { status: 500, body: "" } : undefined));
    const rows = await bench.connector.verify(bench.call(""));
    bench.replaceWith(() => undefined);
    expect(stateOf(rows, "manual_capture")).toMatchObject({ state: "failed" });
  });
});

describe("PayPalConnector.credentialFields", () => {
  it("take a client ID and a secret of PayPal's shape, and repeat none", () => {
    const { credentialFields } = subject.connect({ environment: "test" } as PayPalParts);
    const id = `A${"b".repeat(79)}`;
    const problems = (entered: Record<string, string>) => findCredentialProblems(credentialFields, entered);
    expect(problems({ clientId: id, clientSecret: id })).toEqual([]);
    expect(problems({ clientId: id, clientSecret: "short" }).map(({ code }) => code)).toEqual(["invalid_field"]);
    expect(JSON.stringify(problems({ clientId: `${id} x`, clientSecret: id }))).not.toContain(id);
  });
});
