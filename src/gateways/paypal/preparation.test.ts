import { describe, expect, it } from "vitest";
import type { CardForwarder } from "../../card-vault/card-vault.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import { startGatewayHarness } from "../../dev/testing/gateway-harness.ts";
import { encodeId } from "../../platform/ids.ts";
import { findCredentialProblems } from "../check-credentials.ts";
import type { VerifyRow } from "../connector.ts";
import { account, subjects } from "../subjects.fixture.ts";
import type { PayPalParts } from "./api.ts";
import { mayBeForgotten } from "./key-life.ts";

const subject = subjects.PAYPAL;

const hourMs = 60 * 60 * 1_000;

/** Returns the reference of an attempt whose session was created at this time. */
function referenceOf(madeAtMs: number): string {
  const time = madeAtMs.toString(16).padStart(12, "0");
  return encodeId("att", `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`);
}

const harness = await forFile(() => startGatewayHarness({ ...subject, spoils: /^POST \/v2\/checkout\/orders$/ }));

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
    const payment = harness.newPayment();
    harness.spoilWith(spoil);
    const { outcome } = await harness.connector.authorize(harness.call(payment.attemptReference), payment);
    harness.spoilWith((honest) => honest);
    expect(outcome).toMatchObject({ type: "unknown", kind: "GATEWAY_ERROR" });
    expect(harness.middle.requests.filter(({ path }) => path.endsWith("/authorize"))).toEqual([]);
    expect(await harness.sandbox.authorizations(payment.attemptReference)).toEqual([]);
  });

  it("send nothing at all without a token, which is provably nothing", async () => {
    const asked = harness.middle.requests.length;
    harness.replaceWith(({ path }) => (path === "/v1/oauth2/token" ? { status: 503, body: "" } : undefined));
    const connector = harness.connectTo(harness.middle.url);
    const payment = harness.newPayment();
    const { outcome } = await connector.authorize(harness.call(payment.attemptReference), payment);
    harness.replaceWith(() => undefined);
    expect(outcome).toMatchObject({ type: "notProcessed", cause: "connection_refused" });
    expect(harness.middle.requests.slice(asked).map(({ path }) => path)).toEqual(["/v1/oauth2/token"]);
  });

  it("do not authorize when they took nearly all the time there was", async () => {
    const payment = harness.newPayment();
    let nowMs = 0;
    harness.spoilWith((honest) => {
      nowMs = 9_100;
      return honest;
    });
    const parts = {
      http: harness.http,
      forwarder: harness.forwarder,
      origin: harness.middle.url,
      environment: "test",
    } as const;
    const connector = subject.connect({ ...parts, nowMs: () => nowMs });
    const { outcome } = await connector.authorize(harness.call(payment.attemptReference, 10_000), payment);
    harness.spoilWith((honest) => honest);
    expect(outcome).toMatchObject({
      type: "unknown",
      kind: "TIMEOUT",
      gatewayReference: expect.stringMatching(/^order_/),
    });
    expect(await harness.sandbox.authorizations(payment.attemptReference)).toEqual([]);
  });
});

describe("PayPalConnector.void()", () => {
  const { attemptReference: _, ...rest } = { attemptReference: "", amountMinor: 4900, currency: "EUR" };

  it("repeats the order's creation word for word, and does not if its key may be forgotten", async () => {
    // Its session is from yesterday, and so is the time in its id.
    const payment = { ...harness.newPayment(), attemptReference: referenceOf(Date.now() - 20 * hourMs) };
    await harness.connector.authorize(harness.call(payment.attemptReference), payment);
    const { attemptReference, orderRef } = payment;
    expect(await harness.connector.void(harness.call("v1"), { ...rest, attemptReference, orderRef, ageMs: 0 })).toEqual(
      {
        type: "done",
      },
    );
    const creations = harness.middle.requests.filter(
      ({ path, body }) => path === "/v2/checkout/orders" && body.toString().includes(attemptReference),
    );
    expect(creations.map(({ body }) => body.toString())).toEqual(Array(2).fill(creations[0]?.body.toString()));
    const old = { attemptReference: harness.newPayment().attemptReference, ageMs: 6 * hourMs };
    const asked = harness.middle.requests.length;
    expect(await harness.connector.void(harness.call("v2"), { ...rest, ...old })).toMatchObject({
      type: "unknown",
      kind: "GATEWAY_ERROR",
    });
    expect(harness.middle.requests).toHaveLength(asked);
  });

  it("leaves it open if PayPal does not name the order", async () => {
    const attempt = { ...rest, attemptReference: harness.newPayment().attemptReference };
    harness.spoilWith(() => ({
      status: 422,
      body: '{"name":"UNPROCESSABLE_ENTITY","details":[{"issue":"PAYEE_ACCOUNT_RESTRICTED"}]}',
    }));
    expect(await harness.connector.void(harness.call("v1"), attempt)).toEqual({
      type: "refused",
      definitive: false,
      gatewayCode: "PAYEE_ACCOUNT_RESTRICTED",
    });
    harness.spoilWith(() => "reset");
    expect(await harness.connector.void(harness.call("v2"), attempt)).toMatchObject({ type: "unknown" });
    harness.spoilWith((honest) => honest);
  });
});

describe("mayBeForgotten()", () => {
  it("trusts the key of an order for less than six hours, and treats an attempt without an age as new", () => {
    expect(mayBeForgotten({ ageMs: 0 })).toBe(false);
    expect(mayBeForgotten({ ageMs: 5 * hourMs })).toBe(false);
    expect(mayBeForgotten({ ageMs: 6 * hourMs })).toBe(true);
    expect(mayBeForgotten({})).toBe(false);
  });
});

describe("PayPalConnector.verify()", () => {
  const stateOf = (rows: readonly VerifyRow[], check: VerifyRow["check"]) => rows.find((row) => row.check === check);

  it("sends its test card through the vault, voids the sandbox's approval, and reports a vault that does not send", async () => {
    const sent = harness.forwarder.requests.length;
    const rows = await harness.connector.verify(harness.call(""));
    expect(rows.map(({ state }) => state)).toEqual(Array(7).fill("passed"));
    const [probe] = harness.forwarder.requests.slice(sent);
    expect(JSON.parse(probe!.body).payment_source.card.number).toBe("{{card.number}}");
    const sentCard = harness.middle.requests.findLast(({ path }) => path.endsWith("/authorize"));
    expect(JSON.parse(sentCard!.body.toString()).payment_source.card.number).toBe("4012888888881881");
    const probes = (await harness.sandbox.authorizations()).filter(({ reference }) => reference.startsWith("verify_"));
    expect(probes).toMatchObject([{ status: "voided" }]);
    const reply = { type: "neverSent", cause: "vault_unavailable", reason: "no connection to the vault" } as const;
    const forwarder: CardForwarder = { forward: async () => ({ reply }) };
    const parts = { http: harness.http, forwarder, origin: harness.middle.url, environment: "test" } as const;
    const withoutVault = await subject.connect(parts).verify(harness.call(""));
    expect(stateOf(withoutVault, "raw_cards")).toMatchObject({
      state: "failed",
      detail: expect.stringContaining("no connection"),
    });
  });

  it("checks the credentials anew, ignoring kept tokens, and reports which right is missing", async () => {
    await harness.connector.verify(harness.call(""));
    harness.replaceWith(({ path }) =>
      path === "/v1/oauth2/token" ? { status: 401, body: '{"error":"invalid_client"}' } : undefined,
    );
    const revoked = await harness.connector.verify(harness.call(""));
    harness.replaceWith(() => undefined);
    expect(stateOf(revoked, "credentials")).toMatchObject({ state: "failed" });
    await harness.sandbox.setAccount(account, { manualCapture: false });
    const rows = await harness.connector.verify(harness.call(""));
    await harness.sandbox.setAccount(account, { manualCapture: true });
    expect(stateOf(rows, "raw_cards")).toMatchObject({ state: "passed" });
    expect(stateOf(rows, "manual_capture")).toMatchObject({ state: "failed" });
  });

  const errorOf = (name: string, issue: string) => JSON.stringify({ name, details: [{ issue }] });
  const rowsAfter = async (status: number, body: string) => {
    harness.replaceWith(({ path }) => (path.endsWith("/authorize") ? { status, body } : undefined));
    const rows = await harness.connector.verify(harness.call(""));
    harness.replaceWith(() => undefined);
    return [stateOf(rows, "raw_cards")!, stateOf(rows, "manual_capture")!];
  };

  it.each([
    [422, "UNPROCESSABLE_ENTITY", "CARD_TYPE_NOT_SUPPORTED"],
    [422, "UNPROCESSABLE_ENTITY", "UNPROCESSABLE_ENTITY"],
    [422, "UNPROCESSABLE_ENTITY", "ORDER_NOT_APPROVED"],
    [422, "UNPROCESSABLE_ENTITY", "NEVER_HEARD_OF"],
    [400, "INVALID_REQUEST", "INVALID_PARAMETER_VALUE"],
  ])("does not fail an account because the test card itself is refused: %d %s %s", async (status, name, issue) => {
    const rows = await rowsAfter(status, errorOf(name, issue));
    expect(rows.map(({ state }) => state)).toEqual(["passed", "passed"]);
  });

  it.each([
    [403, "NOT_AUTHORIZED", "PERMISSION_DENIED"],
    [422, "UNPROCESSABLE_ENTITY", "NOT_ENABLED_FOR_CARD_PROCESSING"],
    [422, "UNPROCESSABLE_ENTITY", "PAYEE_NOT_ENABLED_FOR_CARD_PROCESSING"],
  ])("reports that the account may not send card numbers: %d %s %s", async (status, name, issue) => {
    const [rawCards] = await rowsAfter(status, errorOf(name, issue));
    expect(rawCards).toMatchObject({ state: "failed", detail: expect.stringContaining("may not send card numbers") });
  });

  it("reports a problem of the account beside its right to send cards", async () => {
    const [rawCards, manualCapture] = await rowsAfter(422, errorOf("UNPROCESSABLE_ENTITY", "PAYEE_ACCOUNT_RESTRICTED"));
    expect(rawCards).toMatchObject({ state: "passed" });
    expect(manualCapture).toMatchObject({
      state: "failed",
      detail: expect.stringContaining("PAYEE_ACCOUNT_RESTRICTED"),
    });
  });

  it.each([
    [500, '{"name":"INTERNAL_SERVER_ERROR"}'],
    [429, '{"name":"RATE_LIMIT_REACHED"}'],
    [422, "<html>"],
    [201, "{}"],
  ])("passes nothing on an inconclusive answer: %d %s", async (status, body) => {
    const rows = await rowsAfter(status, body);
    expect(rows.map(({ state }) => state)).toEqual(["failed", "failed"]);
    expect(rows[0]!.detail).not.toContain("may not send");
  });

  it("sends no card to an account of the other environment", async () => {
    const sent = harness.forwarder.requests.length;
    const rows = await harness.connectTo(harness.middle.url, "live").verify(harness.call(""));
    expect(stateOf(rows, "environment")).toMatchObject({ state: "failed" });
    expect(harness.forwarder.requests).toHaveLength(sent);
  });

  it("fails if the test payment cannot be voided", async () => {
    harness.replaceWith(({ path }) => (path.endsWith("/void") ? { status: 500, body: "" } : undefined));
    const rows = await harness.connector.verify(harness.call(""));
    harness.replaceWith(() => undefined);
    expect(stateOf(rows, "manual_capture")).toMatchObject({ state: "failed" });
  });
});

describe("PayPalConnector.credentialFields", () => {
  it("accept a client ID and a secret of PayPal's shape, and repeat none", () => {
    const { credentialFields } = subject.connect({ environment: "test" } as PayPalParts);
    const id = `A${"b".repeat(79)}`;
    const problems = (entered: Record<string, string>) => findCredentialProblems(credentialFields, entered);
    expect(problems({ clientId: id, clientSecret: id })).toEqual([]);
    expect(problems({ clientId: id, clientSecret: "short" }).map(({ code }) => code)).toEqual(["invalid_field"]);
    expect(JSON.stringify(problems({ clientId: `${id} x`, clientSecret: id }))).not.toContain(id);
  });
});
