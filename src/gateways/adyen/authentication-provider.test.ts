import { afterEach, describe, expect, it } from "vitest";
import { findProxyDestination } from "../../card-vault/external/destinations.ts";
import { planProxyBody } from "../../card-vault/external/proxy-request.ts";
import { answerAtBank } from "../../dev/testing/bank-customer.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import { holdPayment, startGatewayHarness } from "../../dev/testing/gateway-harness.ts";
import { describeForgedReturns } from "../../dev/testing/gateways/forged-returns.conformance.ts";
import { Secret } from "../../platform/secrets.ts";
import type { AuthenticationRequest } from "../authentication-provider.ts";
import { findCredentialProblems } from "../check-credentials.ts";
import { browser } from "../subjects.fixture.ts";
import { subject } from "./adyen.fixture.ts";
import { adyenTestOrigin } from "./api.ts";
import { AdyenAuthenticationProvider } from "./authentication-provider.ts";

const { apiKey, merchantAccount } = subject.credentials;
const threeDSRequestorId = new Secret("10000001*00002000000");
const threeDSRequestorName = new Secret("Acme");
const credentials = { apiKey, merchantAccount, threeDSRequestorId, threeDSRequestorName };
const call = { credentials, timeoutMs: 5_000 };

let sessions = 0;
// Every request and every answer is checked against Adyen's file, which has no /cardDetails.
const harness = await forFile(() => startGatewayHarness({ ...subject, unlisted: [/^POST \/v72\/cardDetails$/] }));
const provider = providerIn("test");
afterEach(() => harness.replaceWith(() => undefined));

function providerIn(environment: "test" | "live"): AdyenAuthenticationProvider {
  const { http, forwarder, middle } = harness;
  const origin = environment === "test" ? middle.url : adyenTestOrigin;
  return new AdyenAuthenticationProvider({ http, forwarder, origin, environment });
}

function requestOf(keep: Secret, change: Partial<AuthenticationRequest> = {}): AuthenticationRequest {
  return {
    amountMinor: 4_900,
    currency: "EUR",
    vaultToken: new Secret("tok_bench"),
    sessionId: "ps_unused",
    keep,
    methodIndicator: "U",
    isMandated: true,
    returnUrl: "https://pay.example/authentication/test/return/ps_1.atn_1.x",
    purchasedAt: new Date("2026-11-23T17:08:09Z"),
    customerEmail: "ada@example.com",
    shopperIp: "192.0.2.7",
    shopperUserAgent: "Mozilla/5.0",
    browser,
    acquirer: {
      mcc: "5411",
      country: "AT",
      merchantName: "Acme {{card.number}}",
      acquirerBin: "438309",
      acquirerMerchantId: "00002000000",
    },
    ...change,
  };
}

async function prepare(number: string) {
  harness.forwarder.useCard(number);
  const sessionId = `ps_${++sessions}`;
  const prepared = await provider.prepare(call, { vaultToken: new Secret("tok_bench"), sessionId });
  if (prepared.type !== "ready") throw new Error(prepared.reason);
  return { ...prepared, sessionId };
}

async function authenticate(number: string, change: Partial<AuthenticationRequest> = {}) {
  const { keep, sessionId } = await prepare(number);
  return { sessionId, answer: await provider.authenticate(call, requestOf(keep, change)) };
}

const challenged = "4000002760003184";

async function challenge() {
  const { sessionId, answer } = await authenticate(challenged);
  if (answer.type !== "challenge") throw new Error(`expected a challenge, got ${answer.type}`);
  return { sessionId, ...answer };
}

/** Answers at the bank, and returns what the customer's return brings. */
async function returnOf(url: string, answer: "pass" | "fail" | "cancel"): Promise<Secret> {
  const back = await answerAtBank(url, answer);
  return new Secret(provider.readReturn(back!.searchParams)!);
}

const sentTo = (path: string) =>
  JSON.parse(harness.middle.requests.findLast((one) => one.path === path)!.body.toString()) as Record<string, unknown>;

function answerWith(path: string, content: object, status = 200): void {
  harness.replaceWith((asked) => (asked.path === path ? { status, body: JSON.stringify(content) } : undefined));
}

describe("AdyenAuthenticationProvider", () => {
  describeForgedReturns(async () => {
    const [{ action, keep }, other] = [await challenge(), await challenge()];
    const theirs = await returnOf(other.action.url, "pass");
    const pass = async () => (await answerAtBank(action.url, "pass"))!.searchParams;
    return { provider, call, keep, known: [theirs.expose()], pass };
  });

  it("learns the card's network from the vault, and has no device check of its own", async () => {
    const prepared = await prepare(challenged);
    expect(prepared).toMatchObject({ type: "ready", network: "visa" });
    expect(prepared).not.toHaveProperty("method");
    expect(sentTo("/v72/cardDetails")).toEqual({ merchantAccount: "test_conformance", cardNumber: challenged });
  });

  it("asks for an authentication alone, with the acquirer's data and no security code", async () => {
    await authenticate("4000000000003055");
    const sent = sentTo("/v72/payments");
    expect(sent).toMatchObject({
      amount: { value: 4900, currency: "EUR" },
      reference: `ps_${sessions}`,
      additionalData: { manualCapture: "true" },
      authenticationData: {
        attemptAuthentication: "always",
        authenticationOnly: true,
        threeDSRequestData: { nativeThreeDS: "disabled" },
      },
      returnUrl: "https://pay.example/authentication/test/return/ps_1.atn_1.x",
      shopperEmail: "ada@example.com",
      shopperIP: "192.0.2.7",
    });
    expect(sent.threeDS2RequestData).toEqual({
      acquirerBIN: "438309",
      acquirerMerchantID: "00002000000",
      mcc: "5411",
      merchantName: "Acme { {card.number}}",
      threeDSRequestorChallengeInd: "04",
      threeDSRequestorURL: "https://pay.example",
      threeDSRequestorID: "10000001*00002000000",
      threeDSRequestorName: "Acme",
    });
    expect(sent.paymentMethod).toEqual({
      type: "scheme",
      number: "4000000000003055",
      expiryMonth: "03",
      expiryYear: "2030",
      holderName: "Ada Lovelace",
    });
    await authenticate("4000000000003055", { isMandated: false });
    expect(sentTo("/v72/payments")).toMatchObject({ threeDS2RequestData: { threeDSRequestorChallengeInd: "01" } });
  });

  it("mandates a challenge for an agreement", async () => {
    const terms = { everyDays: 30, endsOn: new Date("2031-03-15T00:00:00Z") };
    await authenticate("4000000000003055", { isMandated: false, mandate: { purpose: "recurring", terms } });
    expect(sentTo("/v72/payments")).toMatchObject({
      threeDS2RequestData: {
        mcc: "5411",
        threeDSRequestorChallengeInd: "04",
        threeDSRequestorAuthenticationInd: "02",
        recurringExpiry: "20310315",
        recurringFrequency: "30",
      },
    });
  });

  it("writes bodies that an external vault can send too", async () => {
    await authenticate("4000000000003055");
    for (const { body, ...request } of harness.forwarder.requests.slice(-2)) {
      const plan = planProxyBody(findProxyDestination(request)!, body, { cvc: false, holder: true });
      expect(plan).toMatchObject({ type: "body" });
    }
  });

  it("has a proof without a challenge, and none of a customer whom the bank refuses", async () => {
    expect((await authenticate("4000000000003055")).answer).toMatchObject({
      type: "ended",
      result: { version: "2.2.0", transStatus: "Y", eci: "05" },
      proof: { directoryStatus: "Y", challengeIndicator: "04", cryptogram: expect.stringMatching(/^[\w+/]{27}=$/) },
    });
    expect((await authenticate("4000000000007023")).answer).toMatchObject({ proof: { transStatus: "A", eci: "06" } });
    for (const [number, transStatus] of [
      ["4000000000007007", "N"],
      ["4000000000007015", "R"],
      ["4000008400001280", "U"],
    ] as const) {
      const { answer } = await authenticate(number);
      expect(answer).toMatchObject({ type: "ended", result: { transStatus } });
      expect(answer).not.toHaveProperty("proof");
    }
    expect((await authenticate("4242424242424242")).answer).toMatchObject({ type: "ended", result: {} });
  });

  it("has the result of a challenge by the customer's return, authorizes nothing, and asks once for each return", async () => {
    const { sessionId, action, keep } = await challenge();
    expect(await provider.result(call, keep)).toEqual({ type: "waiting" });
    const returned = await returnOf(action.url, "pass");
    const result = await provider.result(call, keep, returned);
    expect(result).toMatchObject({ type: "ended", proof: { transStatus: "Y", directoryStatus: "C", eci: "05" } });
    expect(await provider.result(call, keep, returned)).toEqual(result);
    expect(sentTo("/v72/payments/details")).toEqual({
      details: { redirectResult: returned.expose() },
      authenticationData: { authenticationOnly: true },
    });
    const keys = harness.middle.requests
      .filter(({ path }) => path === "/v72/payments/details")
      .map(({ headers }) => headers["idempotency-key"]);
    expect([keys.at(-1), String(keys.at(-1)).length]).toEqual([keys.at(-2), 64]);
    expect(await harness.sandbox.authorizations(sessionId)).toEqual([]);
  });

  it.each([
    ["fail", undefined],
    ["cancel", "01"],
  ] as const)("says that the customer did not pass: %s", async (answer, challengeCancel) => {
    const { action, keep } = await challenge();
    const result = await provider.result(call, keep, await returnOf(action.url, answer));
    expect(result).toMatchObject({ type: "ended", result: { transStatus: "N" }, challengeCancel });
    expect(result).not.toHaveProperty("proof");
  });

  it("asks under another key where Adyen keeps an error of its own for the first one", async () => {
    const { action, keep } = await challenge();
    const returned = await returnOf(action.url, "pass");
    const keys: unknown[] = [];
    harness.replaceWith(({ path, headers }) => {
      if (path !== "/v72/payments/details") return undefined;
      keys.push(headers["idempotency-key"]);
      if (keys.length > 1 && headers["idempotency-key"] !== keys[0]) return undefined;
      return { status: 500, body: JSON.stringify({ status: 500, errorCode: "905", errorType: "internal" }) };
    });
    expect(await provider.result(call, keep, returned)).toHaveProperty("proof");
    expect(keys).toEqual([expect.stringMatching(/^\w{64}$/), expect.stringMatching(/^\w{64}$/)]);
  });

  it("does not believe the return of another payment, or one that Adyen does not know", async () => {
    const mine = await challenge();
    const other = await challenge();
    const returned = await returnOf(other.action.url, "pass");
    expect(await provider.result(call, mine.keep, returned)).toEqual({ type: "waiting" });
    expect(await provider.result(call, mine.keep, new Secret("none"))).toMatchObject({ type: "unavailable" });
    expect(await provider.result(call, other.keep, returned)).toHaveProperty("proof");
  });

  it("reads the answers that the emulator does not give", async () => {
    const { keep } = await challenge();
    const reference = `ps_${sessions}`;
    const ask = async (content: object) => {
      answerWith("/v72/payments/details", { merchantReference: reference, ...content });
      return provider.result(call, keep, new Secret("r"));
    };
    const threeDS2Result = {
      messageVersion: "2.2.0",
      transStatus: "Y",
      eci: "05",
      dsTransID: "a3b86754-444d-46ca-95a2-ada351d3f42c",
      authenticationValue: "QkJCQkJCQkJCQkJCQkJCQkJCQkI=",
      threeDSRequestorChallengeInd: "03",
      cavvAlgorithm: "3",
      riskScore: "7",
    };
    const finished = { resultCode: "AuthenticationFinished", threeDS2Result };
    expect(await ask({ ...finished, threeDS2ResponseData: { transStatus: "Y" } })).toMatchObject({
      proof: { directoryStatus: "Y", challengeIndicator: "03", cartesBancaires: { algorithm: "3", score: "7" } },
    });
    expect(
      await ask({ merchantReference: undefined, additionalData: { merchantReference: reference }, ...finished }),
    ).toHaveProperty("proof");
    expect(await ask({ ...finished, merchantReference: undefined })).toEqual({ type: "waiting" });
    expect(await ask({ resultCode: "Pending" })).toEqual({ type: "waiting" });
    for (const told of ["additionalData", "threeDS2ResponseData"]) {
      expect(await ask({ ...finished, [told]: { cardHolderInfo: "Call us" } })).toHaveProperty("message", "Call us");
    }
    for (const resultCode of ["Authorised", "Refused"]) {
      expect(await ask({ ...finished, resultCode })).not.toHaveProperty("proof");
    }
    const { authenticationValue: __, ...less } = threeDS2Result;
    expect(await ask({ ...finished, threeDS2Result: less })).not.toHaveProperty("proof");
    expect(await ask({ resultCode: "Refused", refusalReasonCode: "11" })).toMatchObject({
      result: { transStatus: "N" },
    });
    expect(await ask({ resultCode: "Cancelled", refusalReasonCode: "16" })).toMatchObject({ challengeCancel: "01" });
    expect(await ask({ resultCode: "Authorised" })).toEqual({ type: "ended", result: {} });
  });

  it("cancels at once what Adyen authorized in spite of it, and nothing that is another payment's", async () => {
    const holdFor = async (sessionId: string) => {
      harness.forwarder.useCard("4242424242424242");
      const { gatewayReference } = await holdPayment(harness, { ...harness.newPayment(), attemptReference: sessionId });
      return { resultCode: "Authorised", pspReference: gatewayReference, merchantReference: sessionId };
    };
    const statesAt = async (sessionId: string) =>
      (await harness.sandbox.authorizations(sessionId)).map(({ status }) => status);
    const { keep, sessionId } = await prepare(challenged);
    answerWith("/v72/payments", await holdFor(sessionId));
    expect(await provider.authenticate(call, requestOf(keep))).toEqual({ type: "ended", result: {} });
    expect(await statesAt(sessionId)).toEqual(["voided"]);

    harness.replaceWith(() => undefined);
    const asked = await challenge();
    const held = await holdFor(asked.sessionId);
    const result = () => provider.result(call, asked.keep, new Secret("r"));
    const answer = (cancelled: number) =>
      harness.replaceWith(({ path }) => {
        if (path === "/v72/payments/details") return { status: 200, body: JSON.stringify(held) };
        return path.endsWith("/cancels") && cancelled > 0 ? { status: cancelled, body: "{}" } : undefined;
      });
    answer(500);
    const reason = `Adyen authorized ${held.pspReference}, and has not accepted its cancellation`;
    expect(await result()).toEqual({ type: "unavailable", reason });
    answer(0);
    expect(await result()).toEqual({ type: "ended", result: {} });
    expect(await statesAt(asked.sessionId)).toEqual(["voided"]);

    harness.replaceWith(() => undefined);
    const others = await holdFor("ps_other");
    answerWith("/v72/payments/details", others);
    expect(await result()).toEqual({ type: "waiting" });
    expect(await statesAt("ps_other")).toEqual(["held"]);
  });

  it("takes no other action, and no answer about another payment", async () => {
    const { keep } = await prepare(challenged);
    const ask = (content: object, status = 200) => {
      answerWith("/v72/payments", content, status);
      return provider.authenticate(call, requestOf(keep));
    };
    expect(await ask({ resultCode: "RedirectShopper", action: { type: "sdk" } })).toMatchObject({
      type: "unavailable",
    });
    expect(await ask({ resultCode: "IdentifyShopper", action: { type: "threeDS2" } })).toEqual({
      type: "ended",
      result: {},
      challengeCancel: undefined,
    });
    expect(await ask({ resultCode: "AuthenticationFinished", merchantReference: "ps_other" })).toMatchObject({
      type: "unavailable",
    });
    expect(await ask({}, 500)).toMatchObject({ type: "unavailable", isOutage: true });
    expect(await ask({}, 403)).toEqual({ type: "unavailable", reason: expect.stringMatching(/card numbers/) });
    expect(await provider.authenticate(call, requestOf(keep, { currency: "XXX" }))).toMatchObject({
      type: "unavailable",
    });
    expect(await provider.authenticate(call, requestOf(keep, { shopperUserAgent: undefined }))).toMatchObject({
      type: "unavailable",
    });
  });

  it("is verified by a test card through the vault", async () => {
    expect(await provider.verify(call)).toMatchObject([{ check: "credentials", state: "passed" }]);
    const wrong = { ...call, credentials: { ...credentials, apiKey: new Secret("none") } };
    expect(await provider.verify(wrong)).toMatchObject([
      { state: "failed", detail: "Not accepted: Adyen does not know the key." },
    ]);
  });

  it("asks for the credentials of an authentication alone, and sends a live account's card to its own host", async () => {
    const entered = Object.fromEntries(Object.entries(credentials).map(([name, secret]) => [name, secret.expose()]));
    expect(findCredentialProblems(provider.credentialFields, entered)).toEqual([]);
    const live = providerIn("live");
    const liveUrlPrefix = "1797a841fbb37ca7-YourCompany";
    expect(findCredentialProblems(live.credentialFields, { ...entered, liveUrlPrefix })).toEqual([]);
    expect(findCredentialProblems(live.credentialFields, entered)).toMatchObject([
      { param: "credentials.liveUrlPrefix" },
    ]);
    const own = { ...credentials, liveUrlPrefix: new Secret(liveUrlPrefix) };
    // Aborted before it is sent.
    await live.verify({ credentials: own, timeoutMs: 5_000, signal: AbortSignal.abort() });
    expect(harness.forwarder.requests.at(-1)).toMatchObject({
      connector: "ADYEN_3DS",
      operation: "live_card_details",
      origin: "https://1797a841fbb37ca7-yourcompany-checkout-live.adyenpayments.com",
    });
  });
});
