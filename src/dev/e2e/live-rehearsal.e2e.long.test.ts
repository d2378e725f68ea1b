/** Going live rehearsed in a demo: the gateways' emulators connected in live by command, and paid with live keys. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { emulatorAccounts, notificationKey } from "../testing/emulator-accounts.ts";
import { runRpc } from "../testing/run-command.ts";
import { ApiCheckout } from "./api-checkout.ts";
import { joinTestDemo } from "./shared-demo.fixture.ts";

const demo = await joinTestDemo();
const checkout = new ApiCheckout(demo.file, demo.file.merchants[0]!.live.secretKey);

const call = (method: string, request: object) =>
  runRpc(method, request, [...demo.commandOptions, "--environment", "live"]);

/** Connects an account of live and routes payments to it; returns its id. */
async function connect(gateway: "STRIPE" | "ADYEN" | "PAYPAL"): Promise<string> {
  const account = `live_shop${randomUUID().replaceAll("-", "")}`;
  const prefix = gateway === "ADYEN" ? { liveUrlPrefix: "1797a841fbb37ca7-YourCompany" } : {};
  const credentials = { ...emulatorAccounts[gateway].credentials(account), ...prefix };
  const request = { gateway, account: gateway.toLowerCase(), credentials };
  const added = JSON.parse((await call("GatewayConnectionService/AddGatewayConnection", request)).out);
  const { connectionId } = added.connection;
  if (gateway === "ADYEN") {
    const notificationUrl = `${demo.file.connectOrigin}/gateway-notifications/live/${connectionId}`;
    const body = JSON.stringify({ account, hmacKey: notificationKey, notificationUrl });
    expect((await fetch(`${demo.sandbox.origin}/admin/accounts`, { method: "PUT", body })).status).toBe(200);
  }
  const verified = await call("GatewayConnectionService/VerifyGatewayConnection", {
    connectionId,
    routePayments: true,
  });
  expect({ code: verified.code, answer: JSON.parse(verified.out) }).toMatchObject({
    code: 0,
    answer: { verified: true },
  });
  return connectionId;
}

describe("live of a demo", () => {
  it.each([
    ["STRIPE", "4242424242424242"],
    ["PAYPAL", "4012888888881881"],
    ["ADYEN", "4242424242424242"],
  ] as const)("connects %s, and captures and refunds a payment there", async (gateway, card) => {
    const connection = await connect(gateway);
    const rule = { connectionIds: [connection], failoverOn: ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"] };
    await call("RoutingRuleService/SetRoutingRule", rule);
    const paid = await checkout.pay(card);
    expect(paid).toMatchObject({ status: "SUCCEEDED", capturedVia: gateway });
    const refund = await checkout.refund(paid.sessionId!, "part", { amountMinor: 900 });
    expect(await refund.json()).toMatchObject({ gateway, amountMinor: 900 });
  });

  it("refuses a card that is no test card, which an emulator must never get", async () => {
    const session = await checkout.open();
    await expect(checkout.tokenize(session, "4539578763621486")).rejects.toThrow("test card");
  });
});
