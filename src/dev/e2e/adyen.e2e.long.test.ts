/**
 * STRIPE before ADYEN in a whole demo: connected by command, verified with a real notification, paid in a real browser
 * through the real vault, at their emulators.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { whyNoTraffic } from "../../demo/whether-traffic.ts";
import { launchBrowser } from "../testing/browser.ts";
import { forFile } from "../testing/for-file.ts";
import { runRpc } from "../testing/run-command.ts";
import { ApiCheckout } from "./api-checkout.ts";
import { joinTestDemo } from "./shared-demo.fixture.ts";
import { ShopCustomer } from "./shop-customer.ts";

const merchantAccount = "TheShopECOM";
const hmacKey = "0123456789ABCDEF".repeat(4);
const apiKey = "AQEthekeyoftheshop/=-1";

let adyen: string;

const [demo, browser] = await Promise.all([joinTestDemo(), forFile(launchBrowser)]);
const checkout = new ApiCheckout(demo.shopFile);
// Other files use the merchant of the shop, too.
afterAll(() => call("RoutingRuleService/RestoreRoutingRule", { version: 1 }));

const call = (method: string, request: object = {}) => runRpc(method, request, ["--demo", demo.stateFolder]);

const add = (gateway: string, credentials: object) =>
  call("GatewayConnectionService/AddGatewayConnection", { gateway, account: "shop", credentials });

const verify = (connectionId: string) => call("GatewayConnectionService/VerifyGatewayConnection", { connectionId });

const route = (...connectionIds: string[]) =>
  call("RoutingRuleService/SetRoutingRule", {
    connectionIds,
    failoverOn: ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"],
  });

async function pay(number: string, cvc?: string) {
  const session = await checkout.open();
  await checkout.submit(session, await checkout.tokenize(session, number, cvc));
  return checkout.read(session.sessionId);
}

describe("a connection with ADYEN", () => {
  it("refuses a live prefix in test without repeating a credential, and verifies by a notification that Adyen sent", async () => {
    const refused = await add("ADYEN", { apiKey, merchantAccount, hmacKey, liveUrlPrefix: "0123456789abcdef-TheShop" });
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("apiKey, merchantAccount, hmacKey") });
    expect(refused.out + refused.err).not.toContain(apiKey);
    const added = JSON.parse((await add("ADYEN", { apiKey, merchantAccount, hmacKey })).out);
    adyen = added.connection.connectionId;
    await demo.sandbox.setAccount(merchantAccount, { notificationUrl: added.notificationUrl, hmacKey });
    const { code, out } = await verify(adyen);
    expect({ code, answer: JSON.parse(out) }).toMatchObject({ code: 0, answer: { verified: true } });
  });
});

describe("a payment with STRIPE at priority 1 and ADYEN at priority 2", () => {
  beforeAll(async () => {
    const added = JSON.parse((await add("STRIPE", { secretKey: "sk_test_theshopofthedemo" })).out);
    const stripe = added.connection.connectionId;
    await verify(stripe);
    await route(stripe, adyen);
  });

  it("is captured at ADYEN after a decline at STRIPE, in the browser, and confirmed by its notification", async () => {
    const customer = await ShopCustomer.enter(browser, demo.file.shopUrl);
    const { sessionId } = await customer.goToCheckout();
    await customer.enterCard("4000000000000002");
    await customer.pay();
    await customer.page.locator("#details").getByText("Captured via ADYEN after failover").first().waitFor();
    expect(customer.valuesOf("onSuccess")).toEqual([[{ capturedVia: "ADYEN", failoverUsed: true }]]);
    const session = await checkout.read(sessionId);
    expect(session).toMatchObject({ status: "SUCCEEDED", capturedVia: "ADYEN", failover: true });
    expect(session.attempts).toMatchObject([
      { gateway: "STRIPE", status: "DECLINED", gatewayCode: "generic_decline" },
      { gateway: "ADYEN", status: "CAPTURED", gatewayReference: expect.stringMatching(/^[A-Z0-9]{16}$/) },
    ]);
    const held = await demo.sandbox.authorizations(session.attempts![1]!.attemptId!);
    expect(held).toMatchObject([{ acquirer: "ADYEN", status: "captured", orderRef: session.orderRef }]);
    await expect.poll(async () => (await checkout.read(sessionId)).captureConfirmed, { timeout: 20_000 }).toBe(true);
  });
});

describe("a payment with ADYEN at priority 1", () => {
  beforeAll(async () => {
    const { connections } = JSON.parse((await call("GatewayConnectionService/ListGatewayConnections")).out);
    const first = connections.find(({ gateway }: { gateway: string }) => gateway === "SANDBOX_A").connectionId;
    await route(adyen, first);
  });

  it("makes no week of payments, and says how to set the rule back", async () => {
    expect(await whyNoTraffic(demo.shopFile)).toMatch(
      / version 3 of .* names ADYEN, .* RoutingRuleService\/RestoreRoutingRule '{"version": 1}'`/,
    );
  });

  it.each([
    ["fraud", "4100000000000019", "123", { declineCode: "fraud_suspected", gatewayCode: "20" }],
    ["a customer who would have to act", "4212345678901237", "737", { declineCode: "authentication_required" }],
  ])("charges no other gateway after %s", async (_, number, cvc, attempt) => {
    const session = await pay(number, cvc);
    expect(session).toMatchObject({ status: "DECLINED", declineCode: attempt.declineCode });
    expect(session.attempts).toMatchObject([{ gateway: "ADYEN", status: "DECLINED", ...attempt }]);
  });

  it("is refunded at ADYEN, which reports the end by its notification", async () => {
    const { sessionId } = await pay("4111111111111111", "737");
    const refund = await checkout.refund(sessionId!, "part", { amountMinor: 900 });
    expect(refund.status).toBe(201);
    const read = async () => (await checkout.read(sessionId!)).refunds;
    await expect.poll(read, { timeout: 30_000 }).toMatchObject([{ status: "SUCCEEDED", gateway: "ADYEN" }]);
  });

  it("is counted for its account", async () => {
    const { connections } = JSON.parse((await call("GatewayService/ListGatewayHealth")).out);
    const counts = { attempts: 4, approved: 2, declined: 2 };
    expect(connections).toContainEqual(expect.objectContaining({ connectionId: adyen, ...counts }));
  });
});
