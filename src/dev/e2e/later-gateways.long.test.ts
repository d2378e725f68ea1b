/** Captures later at each of the five gateways in a whole demo: every end of a hold, in the gateways' own books too. */
import { beforeAll, describe, expect, it } from "vitest";
import type { Gateway } from "../../gateways/connector.ts";
import { moveClock } from "../simulation/chaos/site-database.ts";
import { forFile } from "../testing/for-file.ts";
import { runRpc } from "../testing/run-command.ts";
import { startTestDemo } from "./demo.fixture.ts";
import { connectFiveGateways, fiveGateways } from "./five-gateways.fixture.ts";
import { HeldPayment } from "./held-payment.ts";

const cards = { approved: "4242424242424242", refused: "4000000000007247", answerLost: "4000000000007254" };
const minute = 60_000;
const slowly = { timeout: 60_000 };

/** The gateways that report by notification and cannot be read. */
const reporting: readonly Gateway[] = ["SANDBOX_B", "ADYEN"];

const demo = await forFile(startTestDemo);
const routeTo = await connectFiveGateways(demo);

const acquirerOf = (gateway: Gateway) => gateway.replace("SANDBOX_", "");

describe.each(fiveGateways)("a payment that is held at %s", { timeout: 240_000 }, (gateway) => {
  const name = acquirerOf(gateway);
  beforeAll(() => routeTo(gateway));

  it("is captured whole, once for two orders at one moment", async () => {
    const payment = await HeldPayment.hold(demo, cards.approved);
    expect([payment.via, await payment.books()]).toEqual([gateway, [`${name} held 0 0`]]);
    await Promise.all([payment.capture(), payment.capture()]);
    await expect.poll(async () => (await payment.read()).captureConfirmed, slowly).toBe(true);
    expect(await payment.read()).toMatchObject({ status: "SUCCEEDED", amountCapturedMinor: 4900 });
    expect(await payment.books()).toEqual([`${name} captured 4900 0`]);
  });

  it("is captured in part, and refunded in two parts up to that part", async () => {
    const payment = await HeldPayment.hold(demo, cards.approved);
    for (let call = 1; call <= 2; call++)
      expect(await payment.capture(1_000)).toMatchObject({ status: "SUCCEEDED", amountCapturedMinor: 1_000 });
    await payment.refund(400);
    await expect(payment.refund(601)).rejects.toMatchObject({ code: "amount_exceeds_refundable" });
    await payment.refund();
    const ends = async () => (await payment.read()).refunds?.map(({ status }) => status);
    await expect.poll(ends, slowly).toEqual(["SUCCEEDED", "SUCCEEDED"]);
    expect(await payment.books()).toEqual([`${name} captured 1000 1000`]);
  });

  it("is cancelled", async () => {
    const payment = await HeldPayment.hold(demo, cards.approved);
    expect(await payment.cancel()).toMatchObject({ status: "DECLINED", declineCode: "capture_cancelled" });
    await expect.poll(() => payment.books(), slowly).toEqual([`${name} voided 0 0`]);
  });

  it("is captured or cancelled, whichever came first", async () => {
    const payment = await HeldPayment.hold(demo, cards.approved);
    const given = await Promise.allSettled([payment.cancel(), payment.capture(700)]);
    expect(given.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const { status } = await payment.read();
    const wanted = status === "SUCCEEDED" ? `${name} captured 700 0` : `${name} voided 0 0`;
    await expect.poll(() => payment.books(), slowly).toEqual([wanted]);
  });

  it("is captured once when the answer to the capture is lost", async () => {
    const payment = await HeldPayment.hold(demo, cards.answerLost);
    await payment.capture(900);
    await expect.poll(async () => (await payment.read()).status, slowly).toBe("SUCCEEDED");
    expect(await payment.read()).toMatchObject({ amountCapturedMinor: 900 });
    expect(await payment.books()).toEqual([`${name} captured 900 0`]);
  });

  it("ends without money when the capture is refused for good", async () => {
    const payment = await HeldPayment.hold(demo, cards.refused);
    await payment.capture();
    // ADYEN accepts every capture, and reports its failure afterwards.
    const wanted = gateway === "ADYEN" ? "SUCCEEDED" : "DEGRADED";
    // PAYPAL says that there is no hold, which is believed once no request can make one any more.
    await expect.poll(async () => (await payment.read()).status, { timeout: 150_000 }).toBe(wanted);
    await expect.poll(() => payment.books(), slowly).toEqual([`${name} voided 0 0`]);
  });

  it("ends without money when a person has voided the hold", async () => {
    const payment = await HeldPayment.hold(demo, cards.approved);
    const [authorization] = await payment.authorizations();
    await demo.sandbox.voidByHand(authorization!.id);
    if (!reporting.includes(gateway)) await payment.capture();
    const end = async () => (await payment.read()).declineCode;
    const wanted = reporting.includes(gateway) ? "capture_expired" : "processing_unavailable";
    await expect.poll(end, slowly).toBe(wanted);
    await expect(payment.cancel()).rejects.toMatchObject({ status: 409 });
  });
});

describe("payments whose time passes", () => {
  it("are voided at every gateway, or taken as captured where a person captured them", {
    timeout: 240_000,
  }, async () => {
    const soon = { captureBy: new Date(Date.now() + 35 * minute).toISOString() };
    const held: { gateway: Gateway; left: HeldPayment; byHand: HeldPayment }[] = [];
    for (const gateway of fiveGateways) {
      await routeTo(gateway);
      const [left, byHand] = [
        await HeldPayment.hold(demo, cards.approved, soon),
        await HeldPayment.hold(demo, cards.approved, soon),
      ];
      const [authorization] = await byHand.authorizations();
      await demo.sandbox.captureByHand(authorization!.id, 2_450);
      held.push({ gateway, left, byHand });
    }
    const ownerUrl = Object.assign(new URL(demo.postgresUrl), { pathname: "switchyard_test" }).href;
    await moveClock(ownerUrl, 40 * minute);
    for (const { gateway, left, byHand } of held) {
      const name = acquirerOf(gateway);
      await expect.poll(async () => (await left.read()).declineCode, slowly).toBe("capture_expired");
      await expect(left.capture()).rejects.toMatchObject({ status: 409, code: "session_ended" });
      await expect.poll(() => left.books(), slowly).toEqual([`${name} voided 0 0`]);
      await expect.poll(async () => (await byHand.read()).status, slowly).toBe("SUCCEEDED");
      expect(await byHand.read()).toMatchObject({ amountCapturedMinor: 2_450, amountRefundableMinor: 2_450 });
      const { out } = await runRpc("WorkQueueService/ListWorkItems", {}, ["--demo", demo.stateFolder]);
      expect(out).toContain(byHand.sessionId);
    }
  });
});
