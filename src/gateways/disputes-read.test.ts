/** Disputes as each gateway that is read lists them, at its emulator and against its own files. */
import { afterEach, describe, expect, it } from "vitest";
import { forFile } from "../dev/testing/for-file.ts";
import { holdPayment, startGatewayHarness } from "../dev/testing/gateway-harness.ts";
import type { CapturedPayment } from "./connector.ts";
import type { DisputePage, DisputeReading } from "./dispute-readings.ts";
import { disputeCards } from "./sandbox/dispute-cards.ts";
import { subjects } from "./subjects.fixture.ts";

const second = 1_000;
const day = 24 * 60 * 60 * second;
const longAgo = new Date(0);
const never = async () => undefined;

describe.each(["SANDBOX_A", "STRIPE", "PAYPAL"] as const)("the disputes of %s", async (gateway) => {
  const harness = await forFile(() => startGatewayHarness(subjects[gateway]));
  afterEach(async () => {
    harness.replaceWith(() => undefined);
    harness.spoilWith((honest) => honest);
    await harness.sandbox.setClockAhead(0);
  });

  const pay = async (name: string): Promise<CapturedPayment> => {
    harness.forwarder.useCard(disputeCards.find((card) => card.name === name)!.number);
    const hold = await holdPayment(harness, harness.newPayment());
    const answer = await harness.connector.capture(harness.call(`${hold.attemptReference}_cap`), hold);
    if (answer.type !== "done") throw new Error("expected a capture");
    return { ...hold, capturedMinor: hold.amountMinor, captureReference: answer.captureReference };
  };
  const list = (page?: string, since = longAgo): Promise<DisputePage> =>
    harness.connector.disputes!.listDisputes(harness.call(""), { since, page, askedAt: never });
  const listAll = async (since = longAgo): Promise<DisputeReading[]> => {
    const found: DisputeReading[] = [];
    let next: string | undefined;
    do {
      const page = await list(next, since);
      if (page.type !== "page") throw new Error(`expected a page, got ${JSON.stringify(page)}`);
      found.push(...page.disputes);
      next = page.next;
    } while (next !== undefined);
    return found;
  };
  const of = (all: readonly DisputeReading[], payment: CapturedPayment) =>
    all.filter(
      (one) =>
        one.paymentReference === payment.gatewayReference ||
        one.captureReference === (payment.captureReference ?? "none") ||
        one.attemptReference === payment.attemptReference,
    );
  const amount = { amountMinor: 4900, currency: "EUR" };
  const taken = (takenMinor: number, returnedMinor: number) => [{ currency: "EUR", takenMinor, returnedMinor }];

  it("are listed with what was taken, its reason and its deadline", async () => {
    const payment = await pay("Disputed");
    await harness.sandbox.setClockAhead(6 * second);
    const [dispute, ...others] = of(await listAll(), payment);
    expect(others).toEqual([]);
    expect(dispute).toMatchObject({ stage: "CHARGEBACK", status: "NEEDS_RESPONSE", amount, taken: taken(4900, 0) });
    expect(dispute).toMatchObject({ networkReasonCode: "13.1", openedAt: expect.any(Date) });
    expect(dispute!.respondBy!.getTime() - dispute!.openedAt!.getTime()).toBeGreaterThan(17 * day);
    expect(await harness.connector.disputes!.disputesOf(harness.call(""), payment)).toEqual([dispute]);
  });

  it("are an inquiry that a refund ends, and else a chargeback", async () => {
    const [kept, returned] = [await pay("Inquiry"), await pay("Inquiry")];
    await harness.sandbox.setClockAhead(6 * second);
    const asked = { stage: "INQUIRY", status: "NEEDS_RESPONSE", taken: [] };
    for (const one of [kept, returned]) expect(of(await listAll(), one)).toMatchObject([asked]);
    const wanted = { refundReference: `ref_${returned.attemptReference}`, ...amount };
    await harness.connector.refunds!.refund(harness.call("back"), returned, wanted);
    await harness.sandbox.setClockAhead(day + 6 * second);
    const all = await listAll();
    expect(of(all, kept)).toMatchObject([{ stage: "CHARGEBACK", status: "NEEDS_RESPONSE", taken: taken(4900, 0) }]);
    expect(of(all, returned)).toMatchObject([{ stage: "INQUIRY", status: "CLOSED", taken: [] }]);
  });

  it("are a network's report of fraud", async () => {
    const payment = await pay("Fraud warning");
    await harness.sandbox.setClockAhead(6 * second);
    const warned = { stage: "FRAUD_WARNING", status: "CLOSED", reason: "fraudulent", taken: [] };
    expect(of(await listAll(), payment)).toMatchObject([warned]);
  });

  it("are answered, won, and charged back again", async () => {
    const payment = await pay("Charged back again");
    const states = async (afterMs: number) => {
      await harness.sandbox.setClockAhead(afterMs);
      return of(await listAll(), payment);
    };
    expect(await states(11 * second)).toMatchObject([{ status: "UNDER_REVIEW", taken: taken(4900, 0) }]);
    expect(await states(16 * second)).toMatchObject([{ status: "WON", taken: taken(4900, 4900) }]);
    expect(await states(21 * second)).toMatchObject([
      { status: "LOST", taken: taken(4900, 0) },
      { status: "WON", taken: taken(4900, 4900) },
    ]);
  });

  it("are bounded by the time that is asked for", async () => {
    await pay("Disputed");
    await harness.sandbox.setClockAhead(6 * second);
    expect(await listAll(new Date(Date.now() + day))).toEqual([]);
  });

  it("that the account may not read are refused, and a broken answer is none", async () => {
    const payment = await pay("Disputed");
    const ofPayment = () => harness.connector.disputes!.disputesOf(harness.call(""), payment);
    for (const status of [401, 403]) {
      harness.replaceWith(({ path }) =>
        path.startsWith("/v1/oauth2") ? undefined : { status, body: '{"name":"NOT_AUTHORIZED"}' },
      );
      expect(await list()).toMatchObject({ type: "refused" });
      expect(await ofPayment()).toBe("unreadable");
    }
    for (const [status, body] of [
      [500, "{}"],
      [200, "<html>"],
      [200, '{"data":{},"items":{}}'],
    ] as const) {
      harness.replaceWith(({ path }) => (path.startsWith("/v1/oauth2") ? undefined : { status, body }));
      expect(await list()).toMatchObject({ type: "unknown" });
      expect(await ofPayment()).toBeUndefined();
    }
  });
});
