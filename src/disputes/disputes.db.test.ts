/** Refunds beside disputes: what is refused, what ends, and what a person is told. The titles name the rules of docs/disputes.md. */
import { afterEach, describe, expect, it } from "vitest";
import { lockSession } from "../core/record/load-session.ts";
import { capturedOf, refundableMinor } from "../core/rows/payment.ts";
import { itemsOf } from "../core/scenarios/recovery.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import type { DisputeEvent } from "../gateways/dispute-notice.ts";
import { decideRefund } from "../refunds/decide-refund.ts";
import { recordListed } from "../refunds/listed-refunds.ts";
import { startRefundFixture } from "../refunds/refunds.fixture.ts";
import { decideDispute, linkRefund } from "./decide-dispute.ts";
import { dispute, racePairs } from "./disputes.fixture.ts";

const fixture = await forFile(startRefundFixture);
const { core, base } = fixture;
afterEach(() => base.setClockAhead(0));

const disputed = { code: "payment_disputed" };

describe("a refund of a disputed payment", () => {
  it("is refused while the money is taken, and made once it is won", async () => {
    const session = await fixture.pay();
    await dispute(core, session);
    await expect(fixture.refund(session)).rejects.toMatchObject(disputed);
    await expect(fixture.refund(session, { amountMinor: 1 })).rejects.toMatchObject(disputed);
    await expect(fixture.refund(session, { amountMinor: 4901 })).rejects.toMatchObject({
      code: "amount_exceeds_refundable",
    });
    expect(refundableMinor(await base.loadSession(session))).toBe(0);
    await dispute(core, session, { event: "returned" });
    expect(refundableMinor(await base.loadSession(session))).toBe(4900);
    expect(await fixture.refund(session)).toMatchObject({ status: "SUCCEEDED", amountMinor: 4900 });
  });

  it("D2: keeps what two partial chargebacks have taken together", async () => {
    const session = await fixture.pay();
    await dispute(core, session, { amountMinor: 2000 });
    const both = await dispute(core, session, { amountMinor: 1500 });
    expect(both).toMatchObject({
      amountMinor: 3500,
      heldMinor: 3500,
      movements: [{ amountMinor: 2000 }, { amountMinor: 1500 }],
    });
    await expect(fixture.refund(session, { amountMinor: 1401 })).rejects.toMatchObject(disputed);
    expect(await fixture.refund(session, { amountMinor: 1400 })).toMatchObject({ status: "SUCCEEDED" });
  });

  it("D5: is held by a chargeback after more notices than are kept", async () => {
    const session = await fixture.pay();
    await dispute(core, session, { event: "inquiryOpened" });
    for (let amountMinor = 1; amountMinor <= 110; amountMinor++)
      await dispute(core, session, { event: "remark", amountMinor });
    expect(await dispute(core, session, { event: "remark" })).toMatchObject({ heldMinor: 0, notices: { length: 100 } });
    expect(await dispute(core, session)).toMatchObject({ stage: "CHARGEBACK", heldMinor: 4900, movements: [{}] });
    const repeated = await dispute(core, session, { event: "charged", id: "again" });
    expect(repeated.notices.at(-1)).toMatchObject({ event: "charged", isRepeat: true });
  });

  it.each<[DisputeEvent, number, string, number][]>([
    [
      ["charged", 4900, "NEEDS_RESPONSE", 4900],
      ["answered", 1000, "UNDER_REVIEW", 4900],
    ],
    [
      ["chargebackOpened", 4900, "NEEDS_RESPONSE", 4900],
      ["answered", 1000, "UNDER_REVIEW", 4900],
    ],
    [
      ["charged", 4900, "NEEDS_RESPONSE", 4900],
      ["chargedAgain", 1000, "LOST", 4900],
      ["returned", 4900, "LOST", 1000],
    ],
    [
      ["charged", 4900, "NEEDS_RESPONSE", 4900],
      ["returned", 1000, "WON", 3900],
    ],
    [
      ["charged", 4900, "NEEDS_RESPONSE", 4900],
      ["issuerSilent", 4900, "WON", 4900],
      ["returned", 4900, "WON", 0],
    ],
    [
      ["charged", 4900, "NEEDS_RESPONSE", 4900],
      ["returned", 4900, "WON", 0],
      ["chargedAgain", 4900, "LOST", 4900],
      ["preArbitrationWon", 4900, "WON", 4900],
    ],
  ])("D2: leaves what was taken and did not come back: %j", async (...story) => {
    const session = await fixture.pay();
    for (const [event, amountMinor, status, heldMinor] of story)
      expect(await dispute(core, session, { event, amountMinor })).toMatchObject({ status, heldMinor });
  });

  it("may be what a dispute leaves", async () => {
    const session = await fixture.pay();
    await dispute(core, session, { amountMinor: 1000 });
    await expect(fixture.refund(session, { amountMinor: 3901 })).rejects.toMatchObject(disputed);
    expect(await fixture.refund(session)).toMatchObject({ status: "SUCCEEDED", amountMinor: 3900 });
  });

  it("is made while the bank only asks, or warns", async () => {
    for (const event of ["inquiryOpened", "fraudReported"] as const) {
      const session = await fixture.pay();
      await dispute(core, session, { event });
      expect(await fixture.refund(session)).toMatchObject({ status: "SUCCEEDED" });
    }
  });

  it("D3: that was never sent fails, and nothing leaves", async () => {
    const session = await fixture.pay();
    const { books } = await fixture.paymentOf(session);
    const keys = books.keys.length;
    books.isDown = true;
    const { id } = await fixture.refund(session);
    expect(await dispute(core, session)).toMatchObject({ heldMinor: 4900, overlapMinor: 0 });
    expect(await itemsOf(base, session)).toEqual([]);
    books.isDown = false;
    await fixture.workAfter(10);
    const [refund] = await fixture.refundsOf(session);
    expect(refund).toMatchObject({ id, status: "FAILED", failureCode: "payment_disputed", sends: 0 });
    expect(books.keys).toHaveLength(keys);
    expect(await base.eventTypes(session)).toEqual([
      ...["payment_session.succeeded", "dispute.created", "refund.failed"],
    ]);
  });

  it("D3: that was sent without an answer is looked up and not repeated, and fails once it is absent", async () => {
    const session = await fixture.pay();
    const { books } = await fixture.paymentOf(session);
    books.faults.push("loseRequest");
    await fixture.refund(session);
    await dispute(core, session);
    const keys = books.keys.length;
    await fixture.workAfter(5);
    expect((await fixture.refundsOf(session))[0]).toMatchObject({ status: "REQUESTED", sends: 1 });
    // The first request may still arrive for an hour.
    for (const minutes of [66, 80, 160]) await fixture.workAfter(minutes);
    expect((await fixture.refundsOf(session))[0]).toMatchObject({ status: "FAILED", failureCode: "payment_disputed" });
    expect(books.keys).toHaveLength(keys);
  });

  it("D3: that was sent to a gateway which cannot be read is a matter for a person", async () => {
    const session = await fixture.pay("SANDBOX_B");
    const { books } = await fixture.paymentOf(session);
    books.faults.push("loseAnswer");
    const { id } = await fixture.refund(session);
    await dispute(core, session);
    const keys = books.keys.length;
    await fixture.workAfter(5);
    expect(await itemsOf(base, session)).toMatchObject([{ kind: "PAID_BACK_TWICE" }, { kind: "REFUND_UNANSWERED" }]);
    expect((await fixture.refundsOf(session))[0]).toMatchObject({ id, status: "REQUESTED", sends: 1 });
    expect(books.keys).toHaveLength(keys);
  });
});

describe("a refund of a disputed payment that a restore may have lost", () => {
  const restore = () => base.asOwner.pool.query("UPDATE replica_mark SET restored_at = app.clock()");
  afterEach(() => base.asOwner.pool.query("UPDATE replica_mark SET restored_at = NULL"));

  async function restoredRefund() {
    const session = await fixture.pay("SANDBOX_B");
    await restore();
    const { id, sends } = await fixture.refund(session);
    expect(sends).toBe(0);
    await restore();
    expect(await dispute(core, session)).toMatchObject({ heldMinor: 4900, overlapMinor: 0 });
    await fixture.workAfter(25 * 60);
    const by = { sessionId: session.id, merchantId: session.merchantId, by: "ada", reason: "seen at the gateway" };
    const decide = async (decision: { type: "send" } | { type: "succeeded"; gatewayReference: string }) => {
      await core.database.transaction((tx) => decideRefund(tx, { ...by, id, ...decision }));
      await fixture.work();
    };
    return { session, decide };
  }

  it("D3: is not ended until a person has looked whether it was made", async () => {
    const { session, decide } = await restoredRefund();
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "REQUESTED", sends: 0 }]);
    expect(await itemsOf(base, session)).toMatchObject([{ kind: "REFUND_UNANSWERED" }]);
    await decide({ type: "send" });
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "FAILED", failureCode: "payment_disputed" }]);
  });

  it("D4: is paid back twice, and an alarm, once a person has found it", async () => {
    const { session, decide } = await restoredRefund();
    await decide({ type: "succeeded", gatewayReference: "psp-1" });
    expect((await base.loadSession(session)).disputes).toMatchObject([{ overlapMinor: 4900 }]);
    const kinds = (await itemsOf(base, session)).filter(({ resolvedAt }) => resolvedAt === null);
    expect(kinds).toMatchObject([{ kind: "PAID_BACK_TWICE" }]);
  });
});

describe("a dispute of a refunded payment", () => {
  it("D4: is recorded, names what is paid back twice, and alarms a person until the refund comes back", async () => {
    const session = await fixture.pay();
    const { books } = await fixture.paymentOf(session);
    const { gatewayReference } = await fixture.refund(session, { amountMinor: 4000 });
    expect(await dispute(core, session)).toMatchObject({ heldMinor: 4900, overlapMinor: 4000 });
    const [item] = await itemsOf(base, session);
    expect(item).toMatchObject({ kind: "PAID_BACK_TWICE", resolvedAt: null });
    expect(item!.detail).toContain("40.00 EUR");
    books.setStatus(gatewayReference!, "failed");
    await fixture.workAfter(25 * 60);
    expect((await base.loadSession(session)).disputes).toMatchObject([{ overlapMinor: 0 }]);
    expect((await itemsOf(base, session))[0]!.resolvedAt).not.toBeNull();
  });

  it("D4: opens the matter too when a refund by hand is found afterwards", async () => {
    const session = await fixture.pay();
    const { books, reference } = await fixture.paymentOf(session);
    await fixture.refund(session, { amountMinor: 100 });
    await dispute(core, session, { amountMinor: 4800 });
    books.makeByHand(reference, 4800);
    // The list is read before the next refund is sent.
    await dispute(core, session, { event: "returned", amountMinor: 4800 });
    await fixture.refund(session, { amountMinor: 100 });
    expect((await base.loadSession(session)).refunds.some(({ origin }) => origin === "GATEWAY")).toBe(true);
    const again = await dispute(core, session, { event: "chargedAgain", amountMinor: 4800 });
    expect(again).toMatchObject({ status: "LOST", overlapMinor: 4800 });
  });

  it("D4: alarms a person about two disputes of the same money, without a word of refunds, until one comes back", async () => {
    const session = await fixture.pay();
    await dispute(core, session, {}, `A-${session.id}`);
    await dispute(core, session, {}, `B-${session.id}`);
    const overlaps = async () => (await base.loadSession(session)).disputes!.map((one) => one.overlapMinor);
    const items = await itemsOf(base, session);
    expect([await overlaps(), items.map(({ kind }) => kind)]).toEqual([
      [4900, 4900],
      ["PAID_BACK_TWICE", "PAID_BACK_TWICE"],
    ]);
    expect(items.map(({ detail }) => detail).join()).not.toContain("refund");
    await dispute(core, session, { event: "returned" }, `A-${session.id}`);
    expect(await overlaps()).toEqual([0, 0]);
    expect((await itemsOf(base, session)).every(({ resolvedAt }) => resolvedAt !== null)).toBe(true);
  });

  it("D5, D8: has its movements once, whatever repeats", async () => {
    const session = await fixture.pay();
    for (const event of ["returned", "charged", "returned", "chargedAgain", "charged", "chargedAgain"] as const)
      await dispute(core, session, { event });
    const [row] = (await base.loadSession(session)).disputes!;
    const sum = (type: string) =>
      row!.movements.filter((one) => one.type === type).reduce((total, { amountMinor }) => total + amountMinor, 0);
    expect([sum("CHARGEBACK"), sum("CHARGEBACK_REVERSED")]).toEqual([9800, 4900]);
    expect(row).toMatchObject({ stage: "CHARGEBACK", status: "LOST", heldMinor: 4900 });
    expect(await base.eventTypes(session)).toEqual([
      ...["payment_session.succeeded", "dispute.created", "dispute.closed", "dispute.closed"],
    ]);
  });
});

it("D2: sends no refund of what a dispute holds, and loses no dispute, in 50 pairs at one moment", async () => {
  const { disputes, sentAfter, unnamed, refunds, refusals } = await racePairs(fixture, 50);
  expect({ disputes, sentAfter, unnamed }).toEqual({ disputes: 50, sentAfter: 0, unnamed: 0 });
  expect(refunds + refusals.length).toBe(50);
  expect(new Set(refusals)).toEqual(new Set(["payment_disputed"]));
});

describe("a dispute that PayPal settles by a refund of its own", () => {
  async function atPayPal() {
    const session = await fixture.pay();
    await base.asOwner.pool.query(`DO $$ BEGIN
      SET LOCAL session_replication_role = replica;
      UPDATE attempt SET gateway = 'PAYPAL' WHERE session_id = '${session.id}';
    END $$`);
    return session;
  }
  const found = ({ id }: { id: string }, amountMinor: number) =>
    core.database.transaction(async (tx) => {
      const loaded = (await lockSession(tx, id))!;
      const listed = [{ gatewayReference: `R-${id}`, amountMinor, currency: "EUR", status: "succeeded" }] as const;
      await recordListed(tx, core, { loaded, captured: capturedOf(loaded)!, traits: { canRead: true }, listed });
    });
  const twice = async (session: Parameters<typeof itemsOf>[1]) =>
    (await itemsOf(base, session)).filter(({ kind, resolvedAt }) => kind === "PAID_BACK_TWICE" && resolvedAt === null);

  it.each<[string, DisputeEvent, number, number]>([
    ["of the same amount after a loss", "answerTimeOver", 4900, 0],
    ["of another amount", "answerTimeOver", 900, 1],
    ["before its end", "remark", 4900, 1],
  ])(
    "D10: has one %s counted, and shown as paid back twice only where it is not the settlement",
    async (_, event, minor, open) => {
      const session = await atPayPal();
      await dispute(core, session);
      await dispute(core, session, { event });
      await found(session, minor);
      expect((await base.loadSession(session)).disputes).toMatchObject([{ overlapMinor: minor }]);
      expect(await twice(session)).toHaveLength(open);
    },
  );

  const linked = async (session: { id: string; merchantId: string }) => {
    const { disputes, refunds } = await base.loadSession(session);
    const name = { merchantId: session.merchantId, sessionId: session.id, id: disputes![0]!.id };
    const word = { refundId: refunds[0]!.id, by: "an owner", reason: "PayPal shows one" };
    await core.database.transaction((tx) => linkRefund(tx, core, name, word));
    return base.loadSession(session);
  };

  it("D10: counts once, in the ledger too, after an owner has recorded that both are one", async () => {
    const session = await fixture.pay();
    await dispute(core, session, { amountMinor: 3000 });
    await dispute(core, session, { event: "answerTimeOver", amountMinor: 3000 });
    await found(session, 3000);
    expect(refundableMinor(await base.loadSession(session))).toBe(0);
    expect(await twice(session)).toHaveLength(1);
    const { disputes, refunds, ...loaded } = await linked(session);
    expect(await twice(session)).toEqual([]);
    expect(disputes).toMatchObject([
      { status: "LOST", heldMinor: 0, overlapMinor: 0, movements: [{ type: "CHARGEBACK" }, { amountMinor: 3000 }] },
    ]);
    expect(refunds).toMatchObject([
      { disputeId: disputes![0]!.id, disputeBy: "an owner", disputeReason: "PayPal shows one" },
    ]);
    expect(refundableMinor({ disputes, refunds, ...loaded })).toBe(1900);
    expect(await base.eventTypes(session)).toContain("dispute.updated");
    await expect(linked(session)).rejects.toMatchObject({ code: "state_conflict" });
    expect(await fixture.refund(session, { amountMinor: 1900 })).toMatchObject({ amountMinor: 1900 });
  });

  it("D10: holds its amount again, and takes it in the ledger, if that refund fails", async () => {
    const session = await fixture.pay();
    await dispute(core, session);
    await dispute(core, session, { event: "answerTimeOver" });
    await found(session, 4900);
    await linked(session);
    await base.asOwner.pool.query(
      "UPDATE refund SET status = 'FAILED', failure_code = 'returned', completed_at = app.clock() WHERE session_id = $1",
      [session.id],
    );
    const movements = ["CHARGEBACK", "CHARGEBACK_REVERSED", "CHARGEBACK"].map((type) => ({ type, amountMinor: 4900 }));
    expect((await base.loadSession(session)).disputes).toMatchObject([{ heldMinor: 4900, overlapMinor: 0, movements }]);
  });

  it.each<[string, DisputeEvent, number]>([
    ["of another amount", "answerTimeOver", 900],
    ["of a dispute that is not lost", "remark", 4900],
  ])("D10: is not a refund %s", async (_, event, minor) => {
    const session = await atPayPal();
    await dispute(core, session);
    await dispute(core, session, { event });
    await found(session, minor);
    await expect(linked(session)).rejects.toMatchObject({ code: "state_conflict" });
    expect((await base.loadSession(session)).disputes).toMatchObject([{ heldMinor: 4900 }]);
  });
});

describe("an owner's word about a silent dispute", () => {
  const decided = async (session: { id: string; merchantId: string }, status: "WON" | "LOST") => {
    const { id } = (await base.loadSession(session)).disputes![0]!;
    const name = { merchantId: session.merchantId, sessionId: session.id, id };
    return core.database.transaction((tx) => decideDispute(tx, core, name, { status, by: "an owner", reason: "seen" }));
  };
  const now = async (session: { id: string }) => (await base.loadSession(session)).disputes![0]!;

  it("is recorded once it is silent, and frees the money of a won one", async () => {
    const session = await fixture.pay();
    await dispute(core, session);
    await expect(decided(session, "WON")).rejects.toMatchObject({ code: "state_conflict" });
    await base.setClockAhead(61 * 24 * 60);
    await decided(session, "WON");
    expect(await now(session)).toMatchObject({ status: "WON", heldMinor: 0, movements: [{}, { amountMinor: 4900 }] });
    expect(await base.eventTypes(session)).toContain("dispute.closed");
    expect(await fixture.refund(session)).toMatchObject({ amountMinor: 4900 });
  });

  it("holds against what the gateway had said before, and against nothing newer", async () => {
    const session = await fixture.pay();
    await dispute(core, session);
    await base.setClockAhead(61 * 24 * 60);
    await decided(session, "LOST");
    await dispute(core, session, { event: "remark" });
    expect(await now(session)).toMatchObject({
      status: "LOST",
      decision: { before: "NEEDS_RESPONSE", by: "an owner" },
    });
    await dispute(core, session, { event: "returned" });
    expect(await now(session)).toMatchObject({ status: "WON", heldMinor: 0 });
  });
});
