import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Secret } from "../../platform/secrets.ts";
import { type GatewayBench, startGatewayBench } from "../../testing/gateway-bench.ts";
import { findCredentialProblems } from "../check-credentials.ts";
import type { StripeParts } from "./api.ts";
import { StripeConnector } from "./connector.ts";

const subject = {
  connect: (parts: StripeParts) => new StripeConnector(parts),
  credentials: { secretKey: new Secret("sk_test_conformance") },
  specs: ["stripe"],
} as const;

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
