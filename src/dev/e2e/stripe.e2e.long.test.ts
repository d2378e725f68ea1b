/** STRIPE before SANDBOX_B in a whole demo: connected by command, paid through the real vault, at Stripe's emulator. */
import { describe, expect, it } from "vitest";
import { runRpc } from "../testing/run-command.ts";
import { ApiCheckout } from "./api-checkout.ts";
import { joinTestDemo } from "./shared-demo.fixture.ts";
import { tokenizeWallet } from "./wallet-checkout.ts";

const demo = await joinTestDemo();
const checkout = new ApiCheckout(demo.file);

const ofConnections = (method: string, request: object = {}) =>
  runRpc(`GatewayConnectionService/${method}`, request, demo.commandOptions);

const add = (secretKey: string) =>
  ofConnections("AddGatewayConnection", { gateway: "STRIPE", account: "shop", credentials: { secretKey } });

async function routeToStripe() {
  const added = JSON.parse((await add("sk_test_theshopofthedemo")).out);
  const stripe: string = added.connection.connectionId;
  const verified = await ofConnections("VerifyGatewayConnection", { connectionId: stripe });
  const { connections } = JSON.parse((await ofConnections("ListGatewayConnections")).out);
  const second = connections.find(({ gateway }: { gateway: string }) => gateway === "SANDBOX_B").connectionId;
  const rule = { connectionIds: [stripe, second], failoverOn: ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"] };
  await runRpc("RoutingRuleService/SetRoutingRule", rule, demo.commandOptions);
  return verified;
}

describe("a connection with STRIPE", () => {
  it("refuses a live key in test without repeating it, and verifies a test key", async () => {
    const refused = await add("sk_live_theshopofthedemo");
    expect(refused.code).toBe(1);
    expect(refused.err).toContain("sk_test_");
    expect(refused.out + refused.err).not.toContain("sk_live_theshopofthedemo");
    const { code, out } = await routeToStripe();
    expect({ code, answer: JSON.parse(out) }).toMatchObject({ code: 0, answer: { verified: true } });
  });

  it("pauses and resumes the account, and rotates its key, which changes nothing when the new one fails", async () => {
    const { connections } = JSON.parse((await ofConnections("ListGatewayConnections")).out);
    const { connectionId } = connections.find(({ gateway }: { gateway: string }) => gateway === "STRIPE");
    const rotate = (secretKey: string) =>
      ofConnections("RotateGatewayCredentials", { connectionId, credentials: { secretKey } });
    const paused = JSON.parse((await ofConnections("PauseGatewayConnection", { connectionId })).out);
    expect(paused.connection).toMatchObject({ paused: true, verified: true });
    const resumed = JSON.parse((await ofConnections("ResumeGatewayConnection", { connectionId })).out);
    expect(resumed.connection).toMatchObject({ paused: false });
    const failed = await rotate("sk_test_anothershop00");
    expect({ code: failed.code, answer: JSON.parse(failed.out) }).toMatchObject({
      code: 0,
      answer: { verified: false, checks: expect.arrayContaining([expect.objectContaining({ check: "account" })]) },
    });
    const rotated = await rotate("sk_test_theshopofthedemoKey2");
    expect({ code: rotated.code, answer: JSON.parse(rotated.out) }).toMatchObject({
      code: 0,
      answer: { verified: true },
    });
    expect(JSON.parse((await ofConnections("ListUnclassifiedCodes")).out)).toEqual({ codes: [] });
  });
});

describe("a payment with STRIPE at priority 1", () => {
  it("is captured at STRIPE", async () => {
    const session = await checkout.pay("4242424242424242");
    expect(session).toMatchObject({ status: "SUCCEEDED", capturedVia: "STRIPE", captureConfirmed: true });
    const [attempt] = session.attempts!;
    expect(attempt).toMatchObject({ status: "CAPTURED", gatewayReference: expect.stringMatching(/^pi_/) });
    const authorizations = await demo.sandbox.authorizations(attempt!.attemptId!);
    expect(authorizations).toMatchObject([{ acquirer: "STRIPE", status: "captured", orderRef: session.orderRef }]);
  });

  it.each(["apple_pay", "google_pay"] as const)("goes past STRIPE with a device's number of %s", async (wallet) => {
    const session = await checkout.open();
    const token = await tokenizeWallet(demo, checkout, session, { wallet, number: "4000000000008302" });
    await checkout.submit(session, token);
    expect(await checkout.read(session.sessionId)).toMatchObject({
      status: "SUCCEEDED",
      capturedVia: "SANDBOX_B",
      wallet: { type: wallet, credential: "NETWORK_TOKEN" },
      attempts: [{ gateway: "SANDBOX_B", status: "CAPTURED" }],
      routing: {
        plan: [{ gateway: "SANDBOX_B" }],
        skipped: [{ gateway: "STRIPE", because: "STRIPE takes no device’s number from a wallet." }],
      },
    });
  });

  it("is refunded at STRIPE, a part and then the rest", async () => {
    const { sessionId } = await checkout.pay("4242424242424242");
    const part = await checkout.refund(sessionId!, "part", { amountMinor: 900, reason: "duplicate" });
    expect(await part.json()).toMatchObject({
      status: "SUCCEEDED",
      gateway: "STRIPE",
      gatewayReference: expect.stringMatching(/^re_/),
    });
    expect((await checkout.refund(sessionId!, "rest")).status).toBe(201);
    expect(await checkout.read(sessionId!)).toMatchObject({ amountRefundedMinor: 4900, amountRefundableMinor: 0 });
  });

  it("fails over after a decline, and captures once", async () => {
    const session = await checkout.pay("4000000000000002");
    expect(session).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_B", failover: true });
    expect(session.attempts).toMatchObject([
      { gateway: "STRIPE", status: "DECLINED", gatewayCode: "generic_decline" },
      { gateway: "SANDBOX_B", status: "CAPTURED" },
    ]);
  });

  it.each([
    ["fraud", "4100000000000019", { declineCode: "fraud_suspected", gatewayCode: "fraudulent" }],
    [
      "a hidden block of Radar's",
      "4000000000004954",
      { declineCode: "fraud_suspected", gatewayCode: "generic_decline" },
    ],
    ["a stolen card", "4000000000009979", { declineCode: "lost_or_stolen" }],
    ["a customer who would have to act", "4000002760003184", { declineCode: "authentication_required" }],
  ])("charges no other gateway after %s", async (_, number, attempt) => {
    const session = await checkout.pay(number);
    expect(session).toMatchObject({ status: "DECLINED", declineCode: attempt.declineCode });
    expect(session.attempts).toMatchObject([{ gateway: "STRIPE", status: "DECLINED", ...attempt }]);
  });

  it("voids the hold whose answer was lost, after the next gateway has captured", async () => {
    const paying = checkout.pay("4000000000002040");
    await demo.sandbox.paused({ operation: "stripe.silence" });
    await demo.sandbox.release({ operation: "stripe.silence" });
    const session = await paying;
    expect(session).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_B" });
    const [first] = session.attempts!;
    await expect
      .poll(async () => (await demo.sandbox.authorizations(first!.attemptId!)).map(({ status }) => status), {
        timeout: 20_000,
      })
      .toEqual(["voided"]);
    expect((await checkout.read(session.sessionId!)).attempts![0]).toMatchObject({
      gatewayReference: expect.stringMatching(/^pi_/),
    });
  });

  it("captures the hold whose answer was lost when the next gateway declines", async () => {
    const paying = checkout.pay("4000000000003022");
    await demo.sandbox.paused({ operation: "stripe.silence" });
    await demo.sandbox.release({ operation: "stripe.silence" });
    expect(await paying).toMatchObject({
      status: "SUCCEEDED",
      capturedVia: "STRIPE",
      attempts: [
        { gateway: "STRIPE", status: "CAPTURED" },
        { gateway: "SANDBOX_B", status: "DECLINED" },
      ],
    });
  });

  it("captures once when the answer to the capture is lost", async () => {
    const paying = checkout.pay("4000000000002081");
    await demo.sandbox.paused({ operation: "stripe.lost-capture" });
    await demo.sandbox.release({ operation: "stripe.lost-capture" });
    const { sessionId } = await paying;
    await expect.poll(async () => (await checkout.read(sessionId!)).status, { timeout: 20_000 }).toBe("SUCCEEDED");
    const session = await checkout.read(sessionId!);
    expect(session).toMatchObject({ capturedVia: "STRIPE" });
    expect(await demo.sandbox.authorizations(session.attempts![0]!.attemptId!)).toMatchObject([{ status: "captured" }]);
  });
});
