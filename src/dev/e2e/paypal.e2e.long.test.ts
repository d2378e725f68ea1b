/** PAYPAL before SANDBOX_B in a whole demo: connected by command, paid through the real vault, at PayPal's emulator. */
import { describe, expect, it } from "vitest";
import { runRpc } from "../testing/run-command.ts";
import { ApiCheckout } from "./api-checkout.ts";
import { joinTestDemo } from "./shared-demo.fixture.ts";

const demo = await joinTestDemo();
const checkout = new ApiCheckout(demo.file);

const ofConnections = (method: string, request: object = {}) =>
  runRpc(`GatewayConnectionService/${method}`, request, demo.commandOptions);

describe("a connection with PAYPAL", () => {
  it("verifies the account through the vault, and prints no secret", async () => {
    const credentials = { clientId: "ClientOfTheShop_test_shop", clientSecret: "SecretOfTheShopsOwnApp" };
    const added = await ofConnections("AddGatewayConnection", { gateway: "PAYPAL", account: "shop", credentials });
    const paypal = JSON.parse(added.out).connection.connectionId;
    const verified = await ofConnections("VerifyGatewayConnection", { connectionId: paypal });
    expect({ code: verified.code, answer: JSON.parse(verified.out) }).toMatchObject({
      code: 0,
      answer: { verified: true },
    });
    expect(added.out + added.err + verified.out + verified.err).not.toContain(credentials.clientSecret);
    const { connections } = JSON.parse((await ofConnections("ListGatewayConnections")).out);
    const second = connections.find(({ gateway }: { gateway: string }) => gateway === "SANDBOX_B").connectionId;
    const rule = { connectionIds: [paypal, second], failoverOn: ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"] };
    await runRpc("RoutingRuleService/SetRoutingRule", rule, demo.commandOptions);
  });
});

describe("a payment with PAYPAL at priority 1", () => {
  it("is captured at PAYPAL", async () => {
    const session = await checkout.pay("4012888888881881");
    expect(session).toMatchObject({ status: "SUCCEEDED", capturedVia: "PAYPAL", captureConfirmed: true });
    const [attempt] = session.attempts!;
    expect(attempt).toMatchObject({ status: "CAPTURED", gatewayReference: expect.stringMatching(/^[A-Z0-9]{17}$/) });
    const authorizations = await demo.sandbox.authorizations(attempt!.attemptId!);
    expect(authorizations).toMatchObject([{ acquirer: "PAYPAL", status: "captured", orderRef: session.orderRef }]);
  });

  it("is refunded at PAYPAL, by the capture's own id", async () => {
    const { sessionId } = await checkout.pay("4012888888881881");
    const refund = await checkout.refund(sessionId!, "part", { amountMinor: 900 });
    expect(await refund.json()).toMatchObject({ status: "SUCCEEDED", gateway: "PAYPAL", amountMinor: 900 });
    expect(await checkout.read(sessionId!)).toMatchObject({ amountRefundableMinor: 4000 });
  });

  it("fails over after a decline, and stops after fraud or if the customer would have to act", async () => {
    expect(await checkout.pay("4000000000000002")).toMatchObject({
      status: "SUCCEEDED",
      capturedVia: "SANDBOX_B",
      attempts: [{ gateway: "PAYPAL", status: "DECLINED", gatewayCode: "5100" }, { status: "CAPTURED" }],
    });
    for (const [number, declineCode] of [
      ["4100000000000019", "fraud_suspected"],
      ["4000002760003184", "authentication_required"],
    ] as const) {
      const session = await checkout.pay(number);
      expect(session).toMatchObject({ status: "DECLINED", declineCode });
      expect(session.attempts).toMatchObject([{ gateway: "PAYPAL", status: "DECLINED", declineCode }]);
    }
  });

  it("voids the hold whose answer was lost, after the next gateway has captured", async () => {
    const paying = checkout.pay("4000000000002040");
    await demo.sandbox.paused({ operation: "paypal.silence" });
    await demo.sandbox.release({ operation: "paypal.silence" });
    const session = await paying;
    expect(session).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_B" });
    const [first] = session.attempts!;
    await expect
      .poll(async () => (await demo.sandbox.authorizations(first!.attemptId!)).map(({ status }) => status), {
        timeout: 20_000,
      })
      .toEqual(["voided"]);
  });
});
