import { describe, expect, it } from "vitest";
import { findProxyDestination } from "../../card-vault/external/destinations.ts";
import { planProxyBody } from "../../card-vault/external/proxy-request.ts";
import { answerAtBank } from "../../dev/testing/bank-customer.ts";
import { forFile } from "../../dev/testing/for-file.ts";
import { Secret } from "../../platform/secrets.ts";
import type { AuthorizeRequest } from "../connector.ts";
import { browser } from "../subjects.fixture.ts";
import { type AdyenHarness, startAdyenHarness } from "./adyen.fixture.ts";

const adyen = await forFile(startAdyenHarness);
const harness: AdyenHarness["harness"] = adyen.harness;

const returnUrl = "https://pay.example/authentication/test/return/att_1.x";
const asking = { ...browser, colorDepth: 31, acceptHeader: "text/html" };
const permission = (change: object = {}, wish: "as_needed" | "always" = "as_needed"): Partial<AuthorizeRequest> => ({
  authentication: { wish, browser: { ...asking, ...change }, returnUrl },
  shopperUserAgent: "Mozilla/5.0",
});

async function authorize(number: string, change: Partial<AuthorizeRequest>) {
  harness.forwarder.useCard(number);
  const payment = harness.newPayment(change);
  const { outcome } = await harness.connector.authorize(harness.call(payment.attemptReference), payment);
  return { payment, outcome, sent: JSON.parse(harness.middle.requests.at(-1)!.body.toString()) as object };
}

const secureCard = "4212345678901237";

/** Answers at the bank of Adyen's own card for 3-D Secure, and completes the payment with what the return brings. */
async function pay(answer: "pass" | "fail" | "cancel") {
  const { payment, outcome } = await authorize(secureCard, permission());
  if (outcome.type !== "actionNeeded") throw new Error(`expected an action, got ${outcome.type}`);
  const back = await answerAtBank(outcome.action.url, answer);
  expect(await harness.sandbox.authorizations(payment.attemptReference)).toEqual([]);
  const { complete, readReturn } = harness.connector.authentication!;
  const returned = new Secret(readReturn(back!.searchParams)!);
  const { attemptReference, amountMinor, currency } = payment;
  const attempt = { attemptReference, amountMinor, currency };
  return { payment, ...(await complete(harness.call(`${attemptReference}_2`), attempt, { returned })) };
}

describe("AdyenConnector with a customer", () => {
  it("mandates a challenge where the card is stored with an agreement", async () => {
    const terms = { everyDays: 30, endsOn: new Date("2031-03-15T00:00:00Z"), instalments: 12 };
    const purpose = "instalment";
    const storedCard = { type: "save", customer: "0123456789abcdef0123456789abcdef", purpose, terms } as const;
    const asking = permission({}, "always");
    const authentication = { ...asking.authentication!, mandate: { purpose, terms } } as const;
    const { sent } = await authorize("4242424242424242", { ...asking, authentication, storedCard });
    expect(sent).toMatchObject({
      authenticationData: { attemptAuthentication: "always" },
      threeDS2RequestData: {
        threeDSRequestorChallengeInd: "04",
        threeDSRequestorAuthenticationInd: "03",
        purchaseInstalData: "12",
        recurringExpiry: "20310315",
        recurringFrequency: "30",
      },
    });
    const unasked = await authorize("4242424242424242", { storedCard });
    expect(unasked.sent).not.toHaveProperty("threeDS2RequestData");
  });

  it.each([
    ["as_needed", {}],
    ["always", { attemptAuthentication: "always" }],
  ] as const)("describes the browser whole, and permits the redirect: %s", async (wish, attempted) => {
    const { sent } = await authorize("4242424242424242", permission({}, wish));
    expect(sent).toMatchObject({
      browserInfo: {
        acceptHeader: "text/html",
        userAgent: "Mozilla/5.0",
        language: "de-AT",
        colorDepth: 30,
        screenWidth: 1_280,
        screenHeight: 800,
        timeZoneOffset: -60,
        javaEnabled: false,
      },
      channel: "Web",
      origin: "https://pay.example",
      returnUrl,
      redirectFromIssuerMethod: "GET",
    });
    expect(sent).toHaveProperty("authenticationData", {
      ...attempted,
      threeDSRequestData: { nativeThreeDS: "disabled", challengeWindowSize: "05" },
    });
  });

  it.each([
    ["05", 0],
    ["05", 501],
    ["03", 502],
  ])("asks for the window size %s where the page has %i pixels for it", async (size, placeWidth) => {
    const { sent } = await authorize("4242424242424242", permission({ placeWidth }));
    expect(sent).toMatchObject({ authenticationData: { threeDSRequestData: { challengeWindowSize: size } } });
  });

  it("rules authentication out where the browser cannot be described whole", async () => {
    const { sent, outcome } = await authorize(secureCard, { ...permission(), shopperUserAgent: undefined });
    expect(sent).toHaveProperty("authenticationData", { attemptAuthentication: "never" });
    expect(sent).not.toHaveProperty("browserInfo");
    expect(outcome).toMatchObject({ type: "declined", stop: "authentication_required", gatewayCode: "38" });
    const { sent: other } = await authorize("4242424242424242", permission({ acceptHeader: undefined }));
    expect(other).toMatchObject({ browserInfo: { acceptHeader: "*/*" } });
  });

  it("makes no placeholder of what a browser says, and writes a body that an external vault can send", async () => {
    const braces = { language: "{{card.number}}", acceptHeader: "{{card.cvc}}" };
    const asked = { ...permission(braces), shopperUserAgent: "{{{card.number}}}" };
    const { sent } = await authorize("4242424242424242", asked);
    expect(sent).toMatchObject({
      browserInfo: { language: "{ {card.number}}", acceptHeader: "{ {card.cvc}}", userAgent: "{ { {card.number}}}" },
    });
    const request = harness.forwarder.requests.at(-1)!;
    const plan = planProxyBody(findProxyDestination(request)!, request.body, { cvc: true, holder: true });
    expect(plan).toMatchObject({ type: "body", value: { browserInfo: { colorDepth: 30 } } });
  });

  it("is authorized by its return with Adyen's card and password, and keeps what Adyen says about it", async () => {
    const { payment, outcome, authenticated } = await pay("pass");
    expect(outcome).toMatchObject({ type: "held", gatewayReference: expect.stringMatching(/^[A-Z0-9]{16}$/) });
    expect(authenticated).toEqual({
      version: "2.2.0",
      transStatus: "Y",
      eci: "05",
      dsTransactionId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      liability: "ISSUER",
    });
    expect(await adyen.notificationOf("AUTHORISATION", payment.attemptReference)).toMatchObject({ kind: "held" });
    const { path, headers, body } = harness.middle.requests.findLast((one) => one.path.startsWith("/v72"))!;
    expect(path).toBe("/v72/payments/details");
    expect(headers["idempotency-key"]).toBe(`${payment.attemptReference}_2`);
    expect(Object.keys(JSON.parse(body.toString()))).toEqual(["details"]);
  });

  it.each([
    ["fail", "11"],
    ["cancel", "16"],
  ] as const)("is declined as unauthenticated when the customer's answer is to %s", async (answer, gatewayCode) => {
    const { outcome } = await pay(answer);
    expect(outcome).toMatchObject({ type: "declined", stop: "authentication_failed", gatewayCode });
  });
});
