import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TestForwarder } from "../../dev/testing/forwarder.ts";
import { describeForgedReturns } from "../../dev/testing/gateways/forged-returns.conformance.ts";
import { SandboxControl } from "../../dev/testing/sandbox-control.ts";
import { currencyNumber } from "../../platform/iso-numbers.ts";
import { isoCurrencies } from "../../platform/money.ts";
import { GatewayHttp } from "../../platform/outbound-http.ts";
import { Secret } from "../../platform/secrets.ts";
import { type Sandbox, startSandbox } from "../../sandbox/main.ts";
import type { AuthenticationRequest } from "../authentication-provider.ts";
import { browser } from "../subjects.fixture.ts";
import { areqOf, challengeIndicatorOf } from "./areq.ts";
import { problemsOf } from "./areq-fields.fixture.ts";
import { ThreeDSecureIoProvider } from "./provider.ts";

const transaction = { threeDSServerTransID: "d461f105-1792-407f-95ff-9a496fd918a9", messageVersion: "2.2.0" };
const request: AuthenticationRequest = {
  amountMinor: 4_900,
  currency: "EUR",
  vaultToken: new Secret("tok_1"),
  sessionId: "ps_1",
  keep: new Secret(JSON.stringify(transaction)),
  methodIndicator: "U",
  isMandated: true,
  returnUrl: `https://pay.example/authentication/test/return/${"x".repeat(110)}`,
  purchasedAt: new Date("2026-11-23T17:08:09.123Z"),
  browser: { ...browser, colorDepth: 30, language: "zh-Hant-TW" },
  acquirer: {
    mcc: "5411",
    country: "DE",
    merchantName: "Fräulein Schmidts Geschäft für Schönes und Nützliches",
    acquirerBin: "438309",
    acquirerMerchantId: "00002000000",
  },
};
const filled = (asked: AuthenticationRequest) => {
  const text = JSON.stringify(areqOf(asked, transaction))
    .replace("{{card.number}}", "4000000000003055")
    .replace("{{card.expYear2}}{{card.expMonth}}", "3004")
    .replace("{{card.emvHolder}}", "Ada Lovelace");
  return JSON.parse(text) as Record<string, unknown>;
};

describe("areqOf()", () => {
  it("keeps to the field table of EMV 3DS 2.2", () => {
    expect(problemsOf(filled(request))).toEqual([]);
    expect(filled(request)).toMatchObject({
      purchaseAmount: "4900",
      purchaseCurrency: "978",
      purchaseExponent: "2",
      purchaseDate: "20261123170809",
      threeDSRequestorChallengeInd: "04",
      merchantName: "Fraulein Schmidts Geschaft fur Schones u",
      merchantCountryCode: "276",
      browserColorDepth: "24",
      browserLanguage: "zh-Hant",
      cardholderName: "Ada Lovelace",
    });
  });

  it("keeps to it where the card is stored, and mandates a challenge for that", () => {
    const terms = { everyDays: 30, endsOn: new Date("2031-03-15T00:00:00Z"), instalments: 12 };
    const stored = { ...request, isMandated: false, mandate: { purpose: "instalment", terms } } as const;
    expect(problemsOf(filled(stored))).toEqual([]);
    expect(filled(stored)).toMatchObject({
      threeDSRequestorChallengeInd: "04",
      threeDSRequestorAuthenticationInd: "03",
      purchaseInstalData: "12",
      recurringExpiry: "20310315",
      recurringFrequency: "30",
    });
    expect(challengeIndicatorOf(stored)).toBe("04");
  });

  it("keeps to it with all that a session may have", () => {
    const whole: AuthenticationRequest = {
      ...request,
      customerName: "Zoë {{card.number}} Ångström",
      customerEmail: "zoe@example.com",
      shopperIp: "2001:db8::1",
      shopperUserAgent: `Mozilla/5.0 ${"x".repeat(3_000)}`,
      billingAddress: {
        line1: "Straße 1 ".repeat(9),
        line2: "c/o {{card.cvc}}",
        city: "Wien",
        postalCode: "1010",
        region: "Niederösterreich",
        country: "AT",
      },
      browser: { ...request.browser, acceptHeader: "text/html" },
    };
    expect(problemsOf(filled(whole))).toEqual([]);
    expect(JSON.stringify(areqOf(whole, transaction)).match(/\{\{/g)).toHaveLength(4);
  });

  it("writes an address and a name of another script in Latin letters", () => {
    const billingAddress = { line1: "улица Ленина 1", city: "Łódź", postalCode: "101000", country: "RU" };
    const acquirer = { ...request.acquirer, merchantName: "Книги {{card.number}}" };
    const sent = filled({ ...request, billingAddress, acquirer });
    expect(problemsOf(sent)).toEqual([]);
    expect(sent).toMatchObject({
      billAddrLine1: "ulitsa Lenina 1",
      billAddrCity: "Lodz",
      merchantName: "Knigi { {card.number}}",
    });
  });

  it("finds a request that breaks the table", () => {
    const { mcc: _, ...rest } = filled(request);
    expect(problemsOf({ ...rest, browserTZ: "CET", other: "1" })).toEqual([
      "mcc is missing",
      "browserTZ is wrong",
      "other is wrong",
    ]);
  });
});

describe("currencyNumber()", () => {
  it("knows every currency", () => {
    const numbers = isoCurrencies.map((code) => currencyNumber(code));
    expect(numbers.every((number) => /^\d{3}$/.test(number ?? ""))).toBe(true);
    expect(new Set(numbers).size).toBe(isoCurrencies.length);
  });
});

describe.each(["SANDBOX_3DS", "THREEDSECUREIO"] as const)("%s at the 3DS server", (gateway) => {
  const http = new GatewayHttp();
  const forwarder = new TestForwarder(http, "");
  const call = { credentials: { apiKey: new Secret("sandbox_test_one") }, timeoutMs: 5_000 };
  let sandbox: Sandbox;
  let provider: ThreeDSecureIoProvider;
  beforeAll(async () => {
    sandbox = await startSandbox({ port: 0 });
    provider = new ThreeDSecureIoProvider({ gateway, http, forwarder, origin: sandbox.origin });
  });
  afterAll(async () => {
    await Promise.all([sandbox.close(), http.close()]);
  });

  const prepare = async (number: string) => {
    forwarder.useCard(number);
    return provider.prepare(call, request);
  };
  const authenticate = async (number: string) => {
    const prepared = await prepare(number);
    if (prepared.type !== "ready") throw new Error(prepared.reason);
    return provider.authenticate(call, { ...request, keep: prepared.keep });
  };

  it.each([
    ["59 letters", `${"Maria ".repeat(9)}Lopez`],
    ["another script", "Иван Щербаков"],
    ["accents", "Zoë Ångström"],
    ["one letter", "Ö"],
    ["nothing typed", undefined],
  ])("authenticates a cardholder whose name is %s", async (_, name) => {
    forwarder.useHolder(name);
    expect(await authenticate("4000000000003055")).toMatchObject({ type: "ended", result: { transStatus: "Y" } });
    forwarder.useHolder("Ada Lovelace");
  });

  it("knows which device check a card has", async () => {
    expect(await prepare("4000000000003220")).toMatchObject({
      type: "ready",
      network: "visa",
      method: { url: `${sandbox.origin}/acs/method`, method: "POST" },
    });
    expect(await prepare("4000000000003055")).not.toHaveProperty("method");
    expect(await prepare("4242424242424242")).toEqual({
      type: "unavailable",
      reason: "the server reports the error 305",
    });
  });

  it("has a proof without a challenge", async () => {
    expect(await authenticate("4000000000003055")).toMatchObject({
      type: "ended",
      result: { version: "2.2.0", transStatus: "Y", eci: "05" },
      proof: { directoryStatus: "Y", challengeIndicator: "04", cryptogram: expect.stringMatching(/^[\w+/]{27}=$/) },
    });
    expect(await authenticate("4000000000007023")).toMatchObject({ proof: { transStatus: "A", eci: "06" } });
  });

  it("has none of a customer whom the bank refuses, and without an answer", async () => {
    for (const [number, transStatus] of [
      ["4000000000007007", "N"],
      ["4000000000007015", "R"],
    ] as const) {
      const answer = await authenticate(number);
      expect(answer).toMatchObject({ type: "ended", result: { transStatus } });
      expect(answer).not.toHaveProperty("proof");
    }
    expect(await authenticate("4000008400001280")).toMatchObject({ type: "unavailable" });
  });

  it("has the result of a challenge from the server alone", async () => {
    const answer = await authenticate("4000002760003184");
    if (answer.type !== "challenge") throw new Error("the bank asks");
    expect(await provider.result(call, answer.keep)).toEqual({ type: "waiting" });
    const { url, fields } = answer.action;
    const page = await (await fetch(url, { method: "POST", body: new URLSearchParams(fields) })).text();
    expect(page).toContain("49.00 EUR with the card ending in 3184");
    const action = /action="([^"]+)"/.exec(page)![1]!;
    await fetch(sandbox.origin + action, { method: "POST", body: new URLSearchParams({ code: "123456" }) });
    expect(await provider.result(call, answer.keep)).toMatchObject({
      type: "ended",
      proof: { transStatus: "Y", directoryStatus: "C", eci: "05" },
    });
  });

  describeForgedReturns(async () => {
    const answer = await authenticate("4000002760003184");
    if (answer.type !== "challenge") throw new Error("the bank asks");
    const { url, fields } = answer.action;
    const pass = async () => {
      const page = await (await fetch(url, { method: "POST", body: new URLSearchParams(fields) })).text();
      const action = /action="([^"]+)"/.exec(page)![1]!;
      await fetch(sandbox.origin + action, { method: "POST", body: new URLSearchParams({ code: "123456" }) });
      return new URLSearchParams();
    };
    return { provider, call, keep: answer.keep, known: [String(fields.creq)], pass };
  });

  it("says that the customer did not come in time", async () => {
    const answer = await authenticate("4000002760003184");
    if (answer.type !== "challenge") throw new Error("the bank asks");
    await new SandboxControl(sandbox.origin).setClockAhead(31_000);
    expect(await provider.result(call, answer.keep)).toMatchObject({
      result: { transStatus: "N" },
      challengeCancel: "05",
    });
  });

  it("is verified by a test card through the vault", async () => {
    expect(await provider.verify(call)).toMatchObject([{ check: "credentials", state: "passed" }]);
    const wrong = { ...call, credentials: { apiKey: new Secret("none") } };
    expect(await provider.verify(wrong)).toMatchObject([
      { state: "failed", detail: "The server does not know this key." },
    ]);
  });
});
