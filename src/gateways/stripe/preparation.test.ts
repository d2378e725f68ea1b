import { describe, expect, it } from "vitest";
import type { CardForwarder } from "../../card-vault/card-vault.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import { holdPayment, startGatewayHarness } from "../../dev/testing/gateway-harness.ts";
import { encodeId } from "../../platform/ids.ts";
import { Secret } from "../../platform/secrets.ts";
import { findCredentialProblems } from "../check-credentials.ts";
import type { Connector } from "../connector.ts";
import { subjects } from "../subjects.fixture.ts";
import type { StripeParts } from "./api.ts";

const subject = subjects.STRIPE;

const yesterday = () => new Date(Date.now() - 25 * 60 * 60 * 1_000);
const yesterdayMs = 25 * 60 * 60 * 1_000;

describe("StripeConnector's preparations", async () => {
  const harness = await forFile(() =>
    startGatewayHarness({ ...subject, spoils: /^POST \/v1\/payment_(methods|intents)$/ }),
  );

  it.each([
    ["a reset", () => "reset" as const],
    ["an empty answer", ({ status }: { status: number }) => ({ status, body: "" })],
    ["an HTML page", () => ({ status: 200, headers: { "content-type": "text/html" }, body: "<html>" })],
    ["an error", () => ({ status: 500, body: '{"error":{"type":"api_error"}}' })],
    [
      "another reference",
      ({ status, body }: { status: number; body: string }) => ({
        status,
        body: body.replaceAll("att_bench", "att_other"),
      }),
    ],
  ])("confirms nothing after %s", async (_, spoil) => {
    const payment = harness.newPayment();
    harness.spoilWith(spoil);
    const { outcome } = await harness.connector.authorize(harness.call(payment.attemptReference), payment);
    harness.spoilWith((honest) => honest);
    expect(outcome).toMatchObject({ type: "unknown", kind: "GATEWAY_ERROR" });
    expect(harness.middle.requests.filter(({ path }) => path.endsWith("/confirm"))).toEqual([]);
    expect(await harness.sandbox.authorizations(payment.attemptReference)).toEqual([]);
  });

  it("creates nothing again for an attempt of yesterday: absent if the search finds nothing, unknown without a search", async () => {
    const payment = { ...harness.newPayment(), ageMs: yesterdayMs };
    const asked = harness.middle.requests.length;
    expect(await harness.connector.void(harness.call("old1"), payment)).toEqual({ type: "absent" });
    harness.replaceWith(() => ({ status: 400, body: '{"error":{"type":"invalid_request_error"}}' }));
    expect(await harness.connector.void(harness.call("old2"), payment)).toMatchObject({ type: "unknown" });
    harness.replaceWith(() => undefined);
    expect(harness.middle.requests.slice(asked).map(({ method }) => method)).toEqual(["GET", "GET"]);
  });

  it("voids a hold that the search has yet to find, if the time in the id is that of an old session", async () => {
    const time = yesterday().getTime().toString(16).padStart(12, "0");
    const uuid = `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`;
    const payment = { ...harness.newPayment(), attemptReference: encodeId("att", uuid) };
    await harness.connector.authorize(harness.call(payment.attemptReference), payment);
    const attempt = { ...payment, ageMs: 0 };
    expect(await harness.connector.void(harness.call("old3"), attempt)).toEqual({ type: "done" });
    expect(await harness.sandbox.authorizations(payment.attemptReference)).toMatchObject([{ status: "voided" }]);
  });

  it("voids an unrecorded attempt's hold that the search has yet to find, however old its session is", async () => {
    const payment = harness.newPayment();
    await harness.connector.authorize(harness.call(payment.attemptReference), payment);
    const lost = { ...payment, ageMs: yesterdayMs, isUnrecorded: true } as const;
    expect(await harness.connector.void(harness.call("lost1"), lost)).toEqual({ type: "done" });
    expect(await harness.sandbox.authorizations(payment.attemptReference)).toMatchObject([{ status: "voided" }]);
  });

  it.each([
    ["today's bytes", "&confirmation_method=manual", 1],
    ["the bytes of before there was authentication", "", 2],
  ])("finds by its key a payment that was created with %s, and voids it", async (_, added, creations) => {
    const { attemptReference, amountMinor, currency } = harness.newPayment();
    const created = await harness.http.send({
      method: "POST",
      url: `${harness.sandboxOrigin}/v1/payment_intents`,
      headers: {
        authorization: `Bearer ${subject.credentials.secretKey.expose()}`,
        "idempotency-key": `${attemptReference}_new`,
        "content-type": "application/x-www-form-urlencoded",
      },
      body: `amount=4900&currency=eur&capture_method=manual&payment_method_types%5B0%5D=card&metadata%5Battempt_id%5D=${attemptReference}${added}`,
      timeoutMs: 5_000,
    });
    if (created.type !== "answer") throw new Error(created.reason);
    const { id } = JSON.parse(Buffer.from(created.body).toString()) as { id: string };
    const sent = harness.middle.requests.length;
    const attempt = { attemptReference, amountMinor, currency };
    expect(await harness.connector.void(harness.call(`bytes${creations}`), attempt)).toEqual({ type: "done" });
    const paths = harness.middle.requests.slice(sent).map(({ method, path }) => `${method} ${path.split("?")[0]}`);
    expect(paths).toEqual([
      "GET /v1/payment_intents/search",
      ...Array<string>(creations).fill("POST /v1/payment_intents"),
      `POST /v1/payment_intents/${id}/cancel`,
    ]);
  });

  it("leaves a payment open whose key belongs to other bytes than any of ours", async () => {
    const { attemptReference, amountMinor, currency } = harness.newPayment();
    harness.replaceWith(({ method, path }) =>
      method === "POST" && path === "/v1/payment_intents"
        ? { status: 400, body: '{"error":{"type":"idempotency_error"}}' }
        : undefined,
    );
    const attempt = { attemptReference, amountMinor, currency };
    const answer = await harness.connector.void(harness.call("bytes3"), attempt);
    harness.replaceWith(() => undefined);
    expect(answer).toMatchObject({ type: "refused", definitive: false });
  });

  it("voids by its key at an account that has no search", async () => {
    const { attemptReference, amountMinor, currency } = harness.newPayment();
    harness.replaceWith(({ path }) =>
      path.includes("/search") ? { status: 400, body: '{"error":{"type":"invalid_request_error"}}' } : undefined,
    );
    const attempt = { attemptReference, amountMinor, currency };
    expect(await harness.connector.void(harness.call("india"), attempt)).toEqual({ type: "done" });
    harness.replaceWith(() => undefined);
  });

  it("does not confirm when preparing took nearly all the time there was", async () => {
    const payment = harness.newPayment();
    const clock = [0, 9_100];
    const parts = {
      http: harness.http,
      forwarder: harness.forwarder,
      origin: harness.middle.url,
      environment: "test",
    } as const;
    const connector = subject.connect({ ...parts, nowMs: () => clock.shift() ?? 9_100 });
    const { outcome } = await connector.authorize(harness.call(payment.attemptReference, 10_000), payment);
    expect(outcome).toMatchObject({
      type: "unknown",
      kind: "TIMEOUT",
      gatewayReference: expect.stringMatching(/^pi_/),
    });
    expect(await harness.sandbox.authorizations(payment.attemptReference)).toEqual([]);
  });

  it("finds nothing to void if Stripe keeps an error for the creation, because it could not be confirmed", async () => {
    const { attemptReference, amountMinor, currency } = harness.newPayment();
    const attempt = { attemptReference, amountMinor, currency };
    const failing = (headers: Record<string, string>) => () => ({
      status: 500,
      headers,
      body: '{"error":{"type":"api_error"}}',
    });
    harness.spoilWith(failing({}));
    expect(await harness.connector.void(harness.call("void1"), attempt)).toMatchObject({ type: "unknown" });
    harness.spoilWith(failing({ "idempotent-replayed": "true" }));
    expect(await harness.connector.void(harness.call("void2"), attempt)).toEqual({ type: "absent" });
  });
});

describe("StripeConnector.verify()", () => {
  it("sends its test card through the vault, and reports when the vault does not send it", async () => {
    const harness = await startGatewayHarness({ ...subject });
    const rawCards = async (connector: Connector) =>
      (await connector.verify(harness.call(""))).find(({ check }) => check === "raw_cards");
    expect(await rawCards(harness.connector)).toMatchObject({ state: "passed" });
    expect(harness.forwarder.requests.map(({ body }) => new URLSearchParams(body).get("card[number]"))).toEqual([
      "{{card.number}}",
    ]);
    const reply = { type: "neverSent", cause: "vault_unavailable", reason: "no connection to the vault" } as const;
    const forwarder: CardForwarder = { forward: async () => ({ reply }) };
    const withoutVault = subject.connect({
      http: harness.http,
      forwarder,
      origin: harness.middle.url,
      environment: "test",
    });
    expect(await rawCards(withoutVault)).toMatchObject({
      state: "failed",
      detail: expect.stringContaining("no connection"),
    });
    await harness.close();
  });
});

describe("a restricted key", async () => {
  const harness = await forFile(() =>
    startGatewayHarness({
      ...subject,
      credentials: { secretKey: new Secret("rk_test_restrictedkey") },
    }),
  );
  const failed = async () =>
    (await harness.connector.verify(harness.call(""))).filter(({ state }) => state !== "passed");
  const account = "test_restrictedkey";

  it("is verified without the account, which it may not read", async () => {
    expect(await failed()).toEqual([]);
    const [credentials] = await harness.connector.verify(harness.call(""));
    expect(credentials).toMatchObject({ check: "credentials", account: undefined });
    const read = harness.middle.requests.find(
      ({ method, path }) => method === "GET" && path.includes("payment_intents/"),
    );
    expect(decodeURIComponent(read!.path)).toContain("expand[0]=latest_charge");
    const { attemptReference, ...payment } = harness.newPayment();
    const hold = await holdPayment(harness, { attemptReference, ...payment });
    expect(await harness.connector.capture(harness.call("rk_cap"), hold)).toEqual({
      type: "done",
      captureReference: expect.stringMatching(/^ch_/),
    });
  });

  it("fails without the right to read charges, by which declines are judged", async () => {
    await harness.sandbox.setAccount(account, { readsCharges: false });
    expect(await failed()).toEqual([
      expect.objectContaining({ check: "credentials", detail: expect.stringContaining("read charges") }),
    ]);
    await harness.sandbox.setAccount(account, { readsCharges: true });
  });

  it("that lost a right leaves the confirmation unknown, and its hold is found and voided", async () => {
    await harness.sandbox.setAccount(account, { readsCharges: false });
    const payment = harness.newPayment();
    const { outcome } = await harness.connector.authorize(harness.call(payment.attemptReference), payment);
    expect(outcome).toMatchObject({
      type: "unknown",
      isAnswered: true,
      gatewayReference: expect.stringMatching(/^pi_/),
    });
    expect(await harness.sandbox.authorizations(payment.attemptReference)).toMatchObject([{ status: "held" }]);
    const { gatewayReference } = outcome as { gatewayReference: string };
    expect(await harness.connector.void(harness.call("rk_void"), { ...payment, gatewayReference })).toEqual({
      type: "done",
    });
    await harness.sandbox.setAccount(account, { readsCharges: true });
  });

  it.each([
    ["/v1/payment_intents", "credentials", "write access to payment intents"],
    ["/v1/payment_methods", "raw_cards", "write access to payment methods"],
  ])("without the right to %s fails %s, and the answer names the missing right", async (path, check, detail) => {
    const body = '{"error":{"type":"invalid_request_error"}}';
    harness.replaceWith((request) => (request.path === path ? { status: 403, body } : undefined));
    expect(await failed()).toContainEqual(expect.objectContaining({ check, detail: expect.stringContaining(detail) }));
    harness.replaceWith(() => undefined);
  });

  it("of an account that accepts no dollars is verified in its own currency", async () => {
    harness.replaceWith(({ path, body }) =>
      path === "/v1/payment_intents" && body.toString().includes("currency=usd")
        ? { status: 400, body: '{"error":{"type":"invalid_request_error","param":"currency"}}' }
        : undefined,
    );
    expect(await failed()).toEqual([]);
    harness.replaceWith(() => undefined);
  });
});

describe("StripeConnector.credentialFields", () => {
  const problemsOf = (environment: "test" | "live", secretKey: string) => {
    const { credentialFields } = subject.connect({ environment } as StripeParts);
    return findCredentialProblems(credentialFields, { secretKey }).map(({ code }) => code);
  };

  it("accepts only secret and restricted keys of its environment, and repeats none", () => {
    for (const [environment, other] of [
      ["test", "live"],
      ["live", "test"],
    ] as const) {
      expect(problemsOf(environment, `sk_${environment}_4eC39HqLyjWDarjtT1zdp7dc`)).toEqual([]);
      expect(problemsOf(environment, `rk_${environment}_4eC39HqLyjWDarjtT1zdp7dc`)).toEqual([]);
      expect(problemsOf(environment, `sk_${other}_4eC39HqLyjWDarjtT1zdp7dc`)).toEqual(["invalid_field"]);
      expect(problemsOf(environment, `pk_${environment}_4eC39HqLyjWDarjtT1zdp7dc`)).toEqual(["invalid_field"]);
    }
  });
});

describe("StripeConnector.whyNotPayable()", () => {
  it("refuses every amount that Stripe cannot represent exactly", () => {
    const { whyNotPayable } = subject.connect({ environment: "test" } as StripeParts);
    expect(whyNotPayable({ amountMinor: 4900, currency: "EUR" })).toBeUndefined();
    expect(whyNotPayable({ amountMinor: 5120, currency: "KWD" })).toBeUndefined();
    expect(whyNotPayable({ amountMinor: 5124, currency: "KWD" })).toContain("third decimal");
    expect(whyNotPayable({ amountMinor: 150, currency: "MGA" })).toContain("exactly");
    expect(whyNotPayable({ amountMinor: 100, currency: "IRR" })).toContain("does not accept");
    expect(whyNotPayable({ amountMinor: 5000, currency: "UGX" })).toContain("UGX");
  });
});
