/** PAYPAL before SANDBOX_B in a whole demo: connected by command, paid through the real vault, at PayPal's stand-in. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCommand } from "../testing/run-command.ts";
import { ApiCheckout } from "./api-checkout.ts";
import { startTestDemo, type TestDemo } from "./demo-fixture.ts";

let demo: TestDemo;
let checkout: ApiCheckout;

beforeAll(async () => {
  demo = await startTestDemo();
  checkout = new ApiCheckout(demo.file);
});
afterAll(() => demo?.close());

const run = (parts: readonly string[], input?: string) =>
  runCommand([...parts, "--demo", demo.stateFolder, "--json"], input === undefined ? {} : { input });

const add = (account: string, clientId: string) =>
  run(
    ["connection", "add", "--gateway", "PAYPAL", "--account", account, "--credentials-file", "-"],
    JSON.stringify({ clientId, clientSecret: "SecretOfTheShopsOwnApp" }),
  );

async function pay(number: string) {
  const session = await checkout.open();
  await checkout.submit(session, await checkout.tokenize(session, number));
  return checkout.read(session.sessionId);
}

describe("switchyard connection with PAYPAL", () => {
  it("is not verified with an account of live, and is with one of the sandbox, by way of the vault", async () => {
    const live = JSON.parse((await add("real", "ClientOfTheShop_live_shop")).out).connection.connectionId;
    const refused = await run(["connection", "verify", live]);
    expect(refused.code).toBe(1);
    expect(refused.out + refused.err).not.toContain("SecretOfTheShopsOwnApp");
    expect(JSON.parse(refused.out).checks).toContainEqual(
      expect.objectContaining({ check: "environment", passed: false }),
    );
    const paypal = JSON.parse((await add("shop", "ClientOfTheShop_test_shop")).out).connection.connectionId;
    const { code, out } = await run(["connection", "verify", paypal]);
    expect({ code, answer: JSON.parse(out) }).toMatchObject({ code: 0, answer: { verified: true } });
    const { connections } = JSON.parse((await run(["connection", "list"])).out);
    const second = connections.find(({ gateway }: { gateway: string }) => gateway === "SANDBOX_B").connectionId;
    await run(["routing", "set", "--connections", `${paypal},${second}`]);
  });
});

describe("a payment with PAYPAL at priority 1", () => {
  it("is captured at PAYPAL", async () => {
    const session = await pay("4012888888881881");
    expect(session).toMatchObject({ status: "SUCCEEDED", capturedVia: "PAYPAL", captureConfirmed: true });
    const [attempt] = session.attempts!;
    expect(attempt).toMatchObject({ status: "CAPTURED", gatewayReference: expect.stringMatching(/^[A-Z0-9]{17}$/) });
    const authorizations = await demo.sandbox.authorizations(attempt!.attemptId!);
    expect(authorizations).toMatchObject([{ acquirer: "PAYPAL", status: "captured", orderRef: session.orderRef }]);
  });

  it("fails over after a decline, and asks nobody else after fraud or where the customer would have to act", async () => {
    expect(await pay("4000000000000002")).toMatchObject({
      status: "SUCCEEDED",
      capturedVia: "SANDBOX_B",
      attempts: [{ gateway: "PAYPAL", status: "DECLINED", gatewayCode: "5100" }, { status: "CAPTURED" }],
    });
    for (const [number, declineCode] of [
      ["4100000000000019", "fraud_suspected"],
      ["4000002760003184", "authentication_required"],
    ] as const) {
      const session = await pay(number);
      expect(session).toMatchObject({ status: "DECLINED", declineCode });
      expect(session.attempts).toMatchObject([{ gateway: "PAYPAL", status: "DECLINED", declineCode }]);
    }
  });

  it("gives back the hold whose answer was lost, after the next gateway has captured", async () => {
    const paying = pay("4000000000002040");
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
