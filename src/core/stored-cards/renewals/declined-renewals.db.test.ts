/** What the decline of a renewal means for the card, its agreements and further tries, and which gateways are asked. */
import { beforeEach, describe, expect, it } from "vitest";
import { forFile } from "../../../dev/testing/for-file.ts";
import { encodeId } from "../../../platform/ids.ts";
import { eraseByReference } from "../../../retention/erase-customer.ts";
import type { PaymentSession } from "../../rows/entities.ts";
import { cards } from "../../scenarios/core.fixture.ts";
import { retryOf } from "./refusals.ts";
import { startRenewals } from "./renewals.fixture.ts";

const fixture = await forFile(startRenewals);
beforeEach(async () => {
  await fixture.base.setClockAhead(0);
  // A number is one card in all tests.
  await fixture.base.asOwner.pool.query("DELETE FROM card_decline; DELETE FROM card_state");
});

const hour = 60;
const trail = async (session: PaymentSession) =>
  (await fixture.base.loadSession(session)).attempts.map(({ gateway, status }) => `${gateway} ${status}`);
const skippedOf = ({ skipped }: PaymentSession) => skipped?.map(({ gateway, because }) => `${gateway}: ${because}`);
/** Counts the declines and the open tries of a card. */
const counted = async (number: string) => {
  const text = `SELECT count(DISTINCT d.attempt_id)::int AS count FROM card_decline d JOIN payment_method m USING (merchant_id, fingerprint) WHERE m.last4 = $1`;
  return (await fixture.base.asOwner.query<{ count: number }>({ name: "counted", text }, [number.slice(-4)]))[0]!.count;
};

describe("a renewal", () => {
  it("goes on at the account of its own chain, and fails over by the network's name", async () => {
    const agreementId = await fixture.agree({ number: "4000000000007320" });
    const { payment } = await fixture.charge(agreementId);
    expect(payment.session).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_B", failover: true });
    expect((await trail(payment.session))[1]).toBe("SANDBOX_B CAPTURED");
    await fixture.settled();
  });

  it.each([
    {
      number: "4000000000007338",
      skipped: "SANDBOX_A: SANDBOX_A continues only agreements that began in its account.",
      via: "SANDBOX_B",
    },
    {
      number: "4000000000007361",
      skipped: "SANDBOX_B: The agreement has no network transaction id.",
      via: "SANDBOX_A",
    },
  ])("of $number leaves out the gateway that cannot continue it", async ({ number, skipped, via }) => {
    const agreementId = await fixture.agree({ number });
    const { payment } = await fixture.charge(agreementId);
    expect(payment.session).toMatchObject({ status: "SUCCEEDED", capturedVia: via });
    expect(skippedOf(payment.session)).toEqual([skipped]);
    const { gateways } = await fixture.agreement(agreementId);
    expect(gateways.flatMap(({ gateway, because }) => (because ? [`${gateway}: ${because}`] : []))).toEqual([skipped]);
  });
});

describe("after a decline of a renewal", () => {
  it.each([
    {
      of: "no such account (14)",
      number: "4000000000007312",
      refused: { code: "retry_not_allowed" },
      retry: { allowed: false, customerNeeded: true },
    },
    {
      of: "advice 03",
      number: "5200000000007200",
      refused: { code: "retry_not_allowed" },
      retry: { allowed: false, customerNeeded: true },
    },
  ])("$of, the card is stopped, and no other gateway was asked", async ({ number, refused, retry }) => {
    const agreementId = await fixture.agree({ number });
    const { payment } = await fixture.charge(agreementId);
    expect(await trail(payment.session)).toEqual(["SANDBOX_A DECLINED"]);
    expect(retryOf(payment.stored!.renewal!)).toMatchObject({ ...retry, triesLeft: 7 });
    await expect(fixture.charge(agreementId)).rejects.toMatchObject(refused);
    await expect(fixture.charge(agreementId, { renewalRef: "next" })).rejects.toMatchObject(refused);
    // The same number, stored by another customer: the stop is the card's.
    const other = await fixture.agree({ number });
    await expect(fixture.charge(other)).resolves.toMatchObject({ payment: { session: { status: "DECLINED" } } });
  });

  it.each([
    { of: "revoked (R1)", number: "4000000000007304" },
    { of: "advice 21", number: "5200000000007218" },
  ])("$of, the agreement is cancelled, and its merchant gets an event", async ({ number }) => {
    const agreementId = await fixture.agree({ number });
    const { payment } = await fixture.charge(agreementId);
    expect(await trail(payment.session)).toEqual(["SANDBOX_A DECLINED"]);
    expect((await fixture.agreement(agreementId)).agreement.status).toBe("CANCELLED");
    expect(retryOf(payment.stored!.renewal!)).toMatchObject({ allowed: false, customerNeeded: false });
    expect(await fixture.base.eventTypes(payment.session)).toEqual(["agreement.updated", "payment_session.declined"]);
    await expect(fixture.charge(agreementId)).rejects.toMatchObject({
      code: "agreement_not_active",
      state: { status: "CANCELLED" },
    });
  });

  it.each([
    { of: "not permitted (57)", number: "4000000000007379", hours: 720 },
    { of: "advice 25", number: "5200000000007226", hours: 24 },
  ])("$of, no try is allowed for $hours hours", async ({ number, hours }) => {
    const agreementId = await fixture.agree({ number });
    const { payment } = await fixture.charge(agreementId);
    const { notBefore, ...retry } = retryOf(payment.stored!.renewal!);
    expect(retry).toMatchObject({ allowed: true, customerNeeded: false, triesLeft: 7 });
    expect(Math.round((notBefore!.getTime() - payment.session.submittedAt!.getTime()) / 3_600_000)).toBe(hours);
    const state = { notBefore: notBefore!.toISOString() };
    await expect(fixture.charge(agreementId)).rejects.toMatchObject({ code: "retry_not_allowed", state });
    await fixture.base.setClockAhead((hours + 1) * hour);
    expect((await fixture.charge(agreementId)).payment.session.status).toBe("DECLINED");
  });

  it("for want of authentication, this renewal is left to the customer, and others are not", async () => {
    const agreementId = await fixture.agree({ number: "4000000000007296" });
    const { payment } = await fixture.charge(agreementId);
    expect(retryOf(payment.stored!.renewal!)).toMatchObject({ allowed: false, customerNeeded: true });
    await expect(fixture.charge(agreementId)).rejects.toMatchObject({ code: "retry_not_allowed" });
    expect((await fixture.charge(agreementId, { renewalRef: "next" })).payment.session.status).toBe("DECLINED");
  });

  it("without a word about later, another one is allowed eight times", async () => {
    const agreementId = await fixture.agree({ number: "4000000000007288" });
    for (let left = 7; left >= 1; left--) {
      const { payment } = await fixture.charge(agreementId);
      expect(retryOf(payment.stored!.renewal!)).toMatchObject({ allowed: true, triesLeft: left });
    }
    const { payment } = await fixture.charge(agreementId);
    expect(retryOf(payment.stored!.renewal!)).toMatchObject({ allowed: false, triesLeft: 0, customerNeeded: true });
    await expect(fixture.charge(agreementId)).rejects.toMatchObject({ code: "retry_not_allowed" });
  });
});

describe("the tries of a card", () => {
  it("count when they are declined, over failovers, and not when they are approved", async () => {
    const number = "4000000000007288";
    const agreementId = await fixture.agree({ number });
    const { payment } = await fixture.charge(agreementId);
    expect(payment.attempts).toHaveLength(2);
    expect(await counted(number)).toBe(2);
    const approved = await fixture.agree({ number: cards.approved });
    await fixture.charge(approved);
    expect(await counted(cards.approved)).toBe(0);
  });

  /** Counts one try less than the limit against the card of an agreement. */
  const fill = (agreementId: string) => {
    const text = `INSERT INTO card_decline (merchant_id, fingerprint, attempt_id, declined_at, by_customer)
      SELECT m.merchant_id, m.fingerprint, gen_random_uuid(), app.clock(), false FROM agreement a JOIN payment_method m ON m.id = a.method_id,
        generate_series(1, 14) WHERE a.id = $1`;
    return fixture.base.asOwner.query({ name: "fill", text }, [agreementId]);
  };

  it("are sent as often as the limit allows, also of a hundred at once", { timeout: 60_000 }, async () => {
    const agreementId = await fixture.agree({ number: "4000000000007288" });
    await fill(agreementId);
    const processes = [1, 2].map(() => ({ ...fixture.core, renewals: new Set<{ merchantId: string }>() }));
    const asked = await Promise.allSettled(
      Array.from({ length: 100 }, (_, nth) =>
        fixture.charge(agreementId, { renewalRef: `invoice-${nth}` }, processes[nth % processes.length]),
      ),
    );
    const sent = asked.flatMap((one) => (one.status === "fulfilled" ? [one.value.payment] : []));
    expect(sent.map(({ attempts }) => attempts.length)).toEqual([1]);
    const refused = asked.flatMap((one) => (one.status === "rejected" ? [one.reason.code] : []));
    expect(new Set(refused)).toEqual(new Set(["retry_not_allowed"]));
  });

  it("end a renewal before its next gateway where the limit is reached", async () => {
    const agreementId = await fixture.agree({ number: "4000000000007288" });
    await fill(agreementId);
    const { payment } = await fixture.charge(agreementId);
    expect(await trail(payment.session)).toEqual(["SANDBOX_A DECLINED"]);
    expect(payment.attempts[0]!.nextBecause).toBe("The card was declined as often as its network allows.");
    await expect(fixture.charge(agreementId)).rejects.toMatchObject({
      code: "retry_not_allowed",
      state: { notBefore: expect.any(String) },
    });
  });
});

describe("the renewal of a customer who is erased meanwhile", () => {
  it("goes to no further gateway, where it would be a customer's own payment", async () => {
    const customerRef = "customer-to-erase";
    const agreementId = await fixture.agree({ number: "4000000000007288", customerRef });
    await fixture.base.sandbox.hold("a.authorize");
    const paying = fixture.charge(agreementId);
    await fixture.base.sandbox.paused({ operation: "a.authorize" });
    const { merchantId } = fixture.base.owner;
    await fixture.core.database.transaction((tx) => eraseByReference(tx, { merchantId, customerRef }));
    await fixture.base.sandbox.release({});
    const { attempts } = (await paying).payment;
    expect(attempts).toMatchObject([
      { gateway: "SANDBOX_A", status: "DECLINED" },
      { gateway: "SANDBOX_B", status: "FAILED" },
    ]);
    expect(await fixture.base.sandbox.requests(encodeId("att", attempts[1]!.id))).toEqual({});
  });
});
