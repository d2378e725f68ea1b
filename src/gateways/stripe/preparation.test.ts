import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { encodeId } from "../../platform/ids.ts";
import { Secret } from "../../platform/secrets.ts";
import { type GatewayBench, startGatewayBench } from "../../testing/gateway-bench.ts";
import type { CardForwarder } from "../card-forwarder.ts";
import { findCredentialProblems } from "../check-credentials.ts";
import type { Connector } from "../connector.ts";
import type { StripeParts } from "./api.ts";
import { StripeConnector } from "./connector.ts";

const subject = {
  connect: (parts: StripeParts) => new StripeConnector(parts),
  credentials: { secretKey: new Secret("sk_test_conformance") },
  specs: ["stripe"],
} as const;

const yesterday = () => new Date(Date.now() - 25 * 60 * 60 * 1_000);

describe("StripeConnector's preparations", () => {
  let bench: GatewayBench;
  beforeAll(async () => {
    bench = await startGatewayBench({ ...subject, spoils: /^POST \/v1\/payment_(methods|intents)$/ });
  });
  afterAll(() => bench.close());

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
    const payment = bench.newPayment();
    bench.spoilWith(spoil);
    const { outcome } = await bench.connector.authorize(bench.call(payment.attemptReference), payment);
    bench.spoilWith((honest) => honest);
    expect(outcome).toMatchObject({ type: "unknown", kind: "GATEWAY_ERROR" });
    expect(bench.middle.requests.filter(({ path }) => path.endsWith("/confirm"))).toEqual([]);
    expect(await bench.sandbox.authorizations(payment.attemptReference)).toEqual([]);
  });

  it("creates nothing again for an attempt of yesterday: what the search does not find is absent, without one unknown", async () => {
    const payment = { ...bench.newPayment(), startedAt: yesterday() };
    const asked = bench.middle.requests.length;
    expect(await bench.connector.void(bench.call("old1"), payment)).toEqual({ type: "absent" });
    bench.replaceWith(() => ({ status: 400, body: '{"error":{"type":"invalid_request_error"}}' }));
    expect(await bench.connector.void(bench.call("old2"), payment)).toMatchObject({ type: "unknown" });
    bench.replaceWith(() => undefined);
    expect(bench.middle.requests.slice(asked).map(({ method }) => method)).toEqual(["GET", "GET"]);
  });

  it("gives back a hold that the search has yet to find, where the time in the id is that of an old session", async () => {
    const time = yesterday().getTime().toString(16).padStart(12, "0");
    const uuid = `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`;
    const payment = { ...bench.newPayment(), attemptReference: encodeId("att", uuid) };
    await bench.connector.authorize(bench.call(payment.attemptReference), payment);
    const attempt = { ...payment, startedAt: new Date() };
    expect(await bench.connector.void(bench.call("old3"), attempt)).toEqual({ type: "done" });
    expect(await bench.sandbox.authorizations(payment.attemptReference)).toMatchObject([{ status: "voided" }]);
  });

  it("gives back the hold of a lost attempt that the search has yet to find, however old its session is", async () => {
    const payment = bench.newPayment();
    await bench.connector.authorize(bench.call(payment.attemptReference), payment);
    const lost = { ...payment, startedAt: yesterday(), isLost: true } as const;
    expect(await bench.connector.void(bench.call("lost1"), lost)).toEqual({ type: "done" });
    expect(await bench.sandbox.authorizations(payment.attemptReference)).toMatchObject([{ status: "voided" }]);
  });

  it("voids by its key at an account that has no search", async () => {
    const { attemptReference, amountMinor, currency } = bench.newPayment();
    bench.replaceWith(({ path }) =>
      path.includes("/search") ? { status: 400, body: '{"error":{"type":"invalid_request_error"}}' } : undefined,
    );
    const attempt = { attemptReference, amountMinor, currency };
    expect(await bench.connector.void(bench.call("india"), attempt)).toEqual({ type: "done" });
    bench.replaceWith(() => undefined);
  });

  it("does not confirm when preparing took nearly all the time there was", async () => {
    const payment = bench.newPayment();
    const clock = [0, 9_100];
    const parts = {
      http: bench.http,
      forwarder: bench.forwarder,
      origin: bench.middle.url,
      environment: "test",
    } as const;
    const connector = subject.connect({ ...parts, nowMs: () => clock.shift() ?? 9_100 });
    const { outcome } = await connector.authorize(bench.call(payment.attemptReference, 10_000), payment);
    expect(outcome).toMatchObject({
      type: "unknown",
      kind: "TIMEOUT",
      gatewayReference: expect.stringMatching(/^pi_/),
    });
    expect(await bench.sandbox.authorizations(payment.attemptReference)).toEqual([]);
  });

  it("finds nothing to void where Stripe keeps an error for the creation, because nobody could confirm it", async () => {
    const { attemptReference, amountMinor, currency } = bench.newPayment();
    const attempt = { attemptReference, amountMinor, currency };
    const failing = (headers: Record<string, string>) => () => ({
      status: 500,
      headers,
      body: '{"error":{"type":"api_error"}}',
    });
    bench.spoilWith(failing({}));
    expect(await bench.connector.void(bench.call("void1"), attempt)).toMatchObject({ type: "unknown" });
    bench.spoilWith(failing({ "idempotent-replayed": "true" }));
    expect(await bench.connector.void(bench.call("void2"), attempt)).toEqual({ type: "absent" });
  });
});

describe("StripeConnector.verify()", () => {
  it("sends its test card by way of the vault, and says so where the vault does not send it", async () => {
    const bench = await startGatewayBench({ ...subject });
    const rawCards = async (connector: Connector) =>
      (await connector.verify(bench.call(""))).find(({ check }) => check === "raw_cards");
    expect(await rawCards(bench.connector)).toMatchObject({ state: "passed" });
    expect(bench.forwarder.requests.map(({ body }) => new URLSearchParams(body).get("card[number]"))).toEqual([
      "{{card.number}}",
    ]);
    const reply = { type: "neverSent", cause: "vault_unavailable", reason: "no connection to the vault" } as const;
    const forwarder: CardForwarder = { forward: async () => ({ reply }) };
    const withoutVault = subject.connect({
      http: bench.http,
      forwarder,
      origin: bench.middle.url,
      environment: "test",
    });
    expect(await rawCards(withoutVault)).toMatchObject({
      state: "failed",
      detail: expect.stringContaining("no connection"),
    });
    await bench.close();
  });
});

describe("StripeConnector.credentialFields", () => {
  const problemsOf = (environment: "test" | "live", secretKey: string) => {
    const { credentialFields } = subject.connect({ environment } as StripeParts);
    return findCredentialProblems(credentialFields, { secretKey }).map(({ code }) => code);
  };

  it("takes secret and restricted keys of its environment alone, and repeats none", () => {
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
  it("takes no amount that Stripe cannot count exactly", () => {
    const { whyNotPayable } = subject.connect({ environment: "test" } as StripeParts);
    expect(whyNotPayable({ amountMinor: 4900, currency: "EUR" })).toBeUndefined();
    expect(whyNotPayable({ amountMinor: 5120, currency: "KWD" })).toBeUndefined();
    expect(whyNotPayable({ amountMinor: 5124, currency: "KWD" })).toContain("third decimal");
    expect(whyNotPayable({ amountMinor: 150, currency: "MGA" })).toContain("exactly");
    expect(whyNotPayable({ amountMinor: 100, currency: "IRR" })).toContain("does not take");
  });
});
