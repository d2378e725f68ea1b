/**
 * The promises of every connector whose holds may be captured later: exactly the ordered part is captured, and a hold
 * that ended or was captured by hand is reported as what it is. Part of the suite of connectors.
 *
 * It needs of an emulator: holds in the sandbox's ledger, which ends them by the sandbox's clock (PUT /admin/clock), and
 * POST /admin/capture and /admin/void by hand. A gateway that cannot be read reports each by a signed notification.
 */
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Hold, NotificationKind } from "../../../gateways/connector.ts";
import { awaitNotification, type GatewayHarness, holdPayment, receiveNotifications } from "../gateway-harness.ts";

export type HoldSubject = {
  /** The key with which the gateway signs its notifications, where they alone report what happened to a hold. */
  readonly hmacKey?: string;
  /** True if a hold says when it ends. */
  readonly saysEnd: boolean;
};

const secondMs = 1_000;

/** Declares the tests that every connector with a `holdLifeMs` passes. */
export function describeHolds(harness: () => GatewayHarness, { hmacKey, saysEnd }: HoldSubject): void {
  /** Fails unless the gateway says this about the hold, by its record or by a notification. */
  const reports = async (hold: Hold, type: "captured" | "voided", capturedMinor?: number) => {
    const { gatewayReference, attemptReference, currency } = hold;
    if (hmacKey === undefined) {
      const record = await harness().connector.lookUp(harness().call(""), hold);
      expect(record).toMatchObject(type === "voided" ? { type } : { type, gatewayReference, capturedMinor });
      return;
    }
    const kind: NotificationKind = type;
    const isOne = (one: { kind: string; attemptReference: string }) =>
      one.kind === kind && one.attemptReference === attemptReference;
    const amount = capturedMinor === undefined ? {} : { amount: { amountMinor: capturedMinor, currency } };
    expect(await awaitNotification(harness(), isOne)).toMatchObject({ gatewayReference, ...amount });
  };
  const hold = () => holdPayment(harness(), harness().newPayment());
  const capture = (held: Hold, captureMinor?: number, key = `${held.attemptReference}_cap`) =>
    harness().connector.capture(harness().call(key), { ...held, captureMinor });
  const books = async ({ attemptReference }: Hold) => (await harness().sandbox.authorizations(attemptReference))[0]!;

  describe("holds", () => {
    beforeAll(async () => {
      if (hmacKey !== undefined) await receiveNotifications(harness(), hmacKey);
    });
    afterEach(() => harness().sandbox.setClockAhead(0));

    it("captures a part once, and reports exactly that part as captured", async () => {
      const held = await hold();
      const first = await capture(held, 3000);
      expect(["done", "accepted"]).toContain(first.type);
      expect(await capture(held, 3000)).toEqual(first);
      await reports(held, "captured", 3000);
      expect(await books(held)).toMatchObject({ status: "captured", capturedValue: 3000 });
    });

    // Currencies without decimals, with three, and two that gateways count with other decimals than ISO 4217.
    it.each(["JPY", "KWD", "CLP", "UGX"])("captures the same part of an amount in %s", async (currency) => {
      const payment = harness().newPayment({ amountMinor: 49_000, currency });
      if (harness().connector.whyNotPayable(payment) !== undefined) return;
      const held = await holdPayment(harness(), payment);
      await capture(held, 30_000);
      await reports(held, "captured", 30_000);
      const { value, capturedValue } = await books(held);
      expect(capturedValue! / value).toBeCloseTo(30 / 49, 10);
    });

    it("reports a whole capture with its amount", async () => {
      const held = await hold();
      await capture(held);
      await reports(held, "captured", 4900);
    });

    it("captures no more than is held", async () => {
      const held = await hold();
      expect(await capture(held, 4901)).toMatchObject({ type: "refused", definitive: true });
      expect(await books(held)).toMatchObject({ status: "held", capturedValue: 0 });
    });

    it("never takes a capture of another amount for the ordered one", async () => {
      const held = await hold();
      await harness().sandbox.captureByHand((await books(held)).id, 1000);
      const answer = await capture(held, 3000);
      // A gateway that only receives captures refuses it later.
      expect(answer.type).toBe(hmacKey === undefined ? "refused" : "accepted");
      expect(await books(held)).toMatchObject({ status: "captured", capturedValue: 1000 });
    });

    it("reports what a person captured by hand at the gateway", async () => {
      const held = await hold();
      await harness().sandbox.captureByHand((await books(held)).id, 1000);
      await reports(held, "captured", 1000);
    });

    it("reports a hold that a person voided at the gateway as voided", async () => {
      const held = await hold();
      await harness().sandbox.voidByHand((await books(held)).id);
      await reports(held, "voided");
    });

    it("promises no longer life than a hold has, and reports one that ended as voided", async () => {
      const { holdLifeMs } = harness().connector;
      const held = await hold();
      await harness().sandbox.setClockAhead(holdLifeMs! - 10 * secondMs);
      expect(await books(held)).toMatchObject({ status: "held" });
      await harness().sandbox.setClockAhead(30 * 24 * 60 * 60 * secondMs);
      await reports(held, "voided");
      expect(await books(held)).toMatchObject({ status: "voided", capturedValue: 0 });
    });

    it("says when a hold ends where the gateway does, never before its promised life", async () => {
      const { connector, call, newPayment } = harness();
      const before = Date.now();
      const payment = newPayment();
      const { outcome } = await connector.authorize(call(payment.attemptReference), payment);
      const heldUntil = outcome.type === "held" ? outcome.heldUntil : undefined;
      if (saysEnd) expect(heldUntil!.getTime()).toBeGreaterThanOrEqual(before + connector.holdLifeMs! - secondMs);
      else expect(heldUntil).toBeUndefined();
    });
  });
}
