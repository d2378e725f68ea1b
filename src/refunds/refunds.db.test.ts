/** Tests refunds from the request to their end, on a real database, with gateways whose books can be read. */
import { afterEach, describe, expect, it } from "vitest";
import type { PaymentSession } from "../core/rows/entities.ts";
import { refundableMinor } from "../core/rows/payment.ts";
import { itemsOf } from "../core/scenarios/recovery.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import type { RefundAnswer } from "../gateways/connector.ts";
import { processNotificationsOnce } from "../oversight/notifications/process-notifications.ts";
import { encodeId } from "../platform/ids.ts";
import { decideRefund, type RefundDecision } from "./decide-refund.ts";
import { startRefundFixture } from "./refunds.fixture.ts";

const fixture = await forFile(startRefundFixture);
afterEach(() => fixture.base.setClockAhead(0));

const refundEvents = async (session: PaymentSession) =>
  (await fixture.base.eventTypes(session)).filter((type) => type.startsWith("refund."));
const atGateway = async (session: PaymentSession) => {
  const { reference, books } = await fixture.paymentOf(session);
  return books.of(reference);
};
const execute = (text: string, values: unknown[]) => fixture.base.asOwner.pool.query(text, values);

async function decide(session: PaymentSession, decision: Pick<RefundDecision, "id"> & DecisionType): Promise<void> {
  const { id: sessionId, merchantId } = session;
  await fixture.core.database.transaction((tx) =>
    decideRefund(tx, { sessionId, merchantId, by: "ada", reason: "seen at the gateway", ...decision }),
  );
  await fixture.work();
}
type DecisionType = { type: "succeeded"; gatewayReference: string } | { type: "failed" } | { type: "send" };

describe("requestRefund()", () => {
  it("refunds everything that is left, once, with an event", async () => {
    const session = await fixture.pay();
    expect(await fixture.refund(session)).toMatchObject({
      status: "SUCCEEDED",
      amountMinor: 4900,
      gatewayReference: expect.stringMatching(/^re_/),
      completedAt: expect.any(Date),
    });
    expect(await atGateway(session)).toMatchObject([{ amountMinor: 4900, status: "succeeded" }]);
    expect(await refundEvents(session)).toEqual(["refund.succeeded"]);
    const loaded = await fixture.base.loadSession(session);
    expect([loaded.session.status, refundableMinor(loaded)]).toEqual(["SUCCEEDED", 0]);
    await expect(fixture.refund(session)).rejects.toMatchObject({ code: "amount_exceeds_refundable" });
  });

  it("refunds parts, and never more than was captured", async () => {
    const session = await fixture.pay();
    await fixture.refund(session, { amountMinor: 1000 });
    await fixture.refund(session, { amountMinor: 3000, reason: "duplicate", refundRef: "return-7" });
    await expect(fixture.refund(session, { amountMinor: 901 })).rejects.toMatchObject({
      code: "amount_exceeds_refundable",
      field: "amountMinor",
    });
    expect(await fixture.refund(session)).toMatchObject({ amountMinor: 900 });
    expect((await atGateway(session)).map(({ amountMinor }) => amountMinor)).toEqual([1000, 3000, 900]);
  });

  it("returns the refund of a key that was used before, and refuses the key with other fields", async () => {
    const session = await fixture.pay();
    const first = await fixture.refund(session, { key: "return-1", amountMinor: 500 });
    const again = await fixture.refund(session, { key: "return-1", amountMinor: 500 });
    expect(again.id).toBe(first.id);
    const other = fixture.refund(session, { key: "return-1", amountMinor: 501 });
    await expect(other).rejects.toMatchObject({ code: "idempotency_key_reused" });
    expect(await atGateway(session)).toHaveLength(1);
    await fixture.base.setClockAhead(48 * 60);
    expect((await fixture.refund(session, { key: "return-1", amountMinor: 500 })).id).toBe(first.id);
    expect(await atGateway(session)).toHaveLength(1);
  });

  it("refuses a payment that has not succeeded, and one of another merchant", async () => {
    const session = await fixture.base.newSession();
    await expect(fixture.refund(session)).rejects.toMatchObject({ code: "not_refundable" });
    const paid = await fixture.pay();
    const stranger = fixture.refund(paid, { merchantId: fixture.base.core.runtime.uuid() });
    await expect(stranger).rejects.toMatchObject({ code: "not_found" });
  });

  it("lets one of two refunds through that fit only alone", async () => {
    const session = await fixture.pay();
    const both = [fixture.refund(session, { amountMinor: 3000 }), fixture.refund(session, { amountMinor: 3000 })];
    const settled = await Promise.allSettled(both);
    expect(settled.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect(await atGateway(session)).toHaveLength(1);
  });

  it("fails when the gateway refuses for good, and leaves the amount refundable", async () => {
    const session = await fixture.pay();
    fixture.books.SANDBOX_A.faults.push("refuse");
    expect(await fixture.refund(session)).toMatchObject({ status: "FAILED", failureCode: "no_refund" });
    expect(await refundEvents(session)).toEqual(["refund.failed"]);
    expect(await fixture.refund(session)).toMatchObject({ status: "SUCCEEDED", amountMinor: 4900 });
  });
});

describe("a refund whose answer is lost", () => {
  it.each(["loseRequest", "loseAnswer"] as const)("is sent again with the same key: %s", async (fault) => {
    const session = await fixture.pay();
    const { keys } = fixture.books.SANDBOX_A;
    const before = keys.length;
    fixture.books.SANDBOX_A.faults.push(fault);
    const refund = await fixture.refund(session);
    expect(refund).toMatchObject({ status: "REQUESTED", sends: 1 });
    // It still counts: asking again cannot pay the customer twice.
    await expect(fixture.refund(session, { amountMinor: 1 })).rejects.toMatchObject({
      code: "amount_exceeds_refundable",
    });
    await fixture.workAfter(1);
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "SUCCEEDED", sends: 2, keys: 1 }]);
    expect(new Set(keys.slice(before))).toEqual(new Set([encodeId("ref", refund.id)]));
    expect(await atGateway(session)).toHaveLength(1);
  });

  it("is sent by the caller alone while its lease lasts, and by a worker afterwards", async () => {
    const session = await fixture.pay();
    const { SANDBOX_A } = fixture.books;
    const before = SANDBOX_A.keys.length;
    const listing = Promise.withResolvers<void>();
    const stopped = Promise.withResolvers<void>();
    // The caller's process stops before it sends.
    SANDBOX_A.onList = () => {
      listing.resolve();
      return stopped.promise;
    };
    const asked = fixture.refund(session);
    await listing.promise;
    // The clock stands still, so that no lease lapses on a slow machine.
    const { rows } = await execute("SELECT created_at::text AS at FROM refund WHERE session_id = $1", [session.id]);
    await execute(
      `CREATE OR REPLACE FUNCTION app.clock() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT ''${rows[0].at}''::timestamptz'`,
      [],
    );
    await fixture.work();
    expect(SANDBOX_A.keys.slice(before)).toEqual([]);
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "REQUESTED", sends: 0 }]);
    await fixture.workAfter(1);
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "SUCCEEDED", sends: 1 }]);
    stopped.resolve();
    expect(await asked).toMatchObject({ status: "SUCCEEDED", sends: 1 });
    expect(SANDBOX_A.keys.slice(before)).toHaveLength(1);
    expect(await atGateway(session)).toHaveLength(1);
  });

  it("is looked up once the gateway may have forgotten its key", async () => {
    const session = await fixture.pay();
    fixture.books.SANDBOX_A.faults.push("loseAnswer");
    await fixture.refund(session);
    fixture.books.SANDBOX_A.forgetKeys();
    await fixture.workAfter(13 * 60);
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "SUCCEEDED", sends: 1 }]);
    expect(await atGateway(session)).toHaveLength(1);
  });

  it("is sent under a second key where the gateway keeps an error, and only after it has nothing", async () => {
    const session = await fixture.pay();
    const { keys } = fixture.books.SANDBOX_A;
    const before = keys.length;
    fixture.books.SANDBOX_A.faults.push("keepError");
    const refund = await fixture.refund(session);
    expect(refund).toMatchObject({ status: "REQUESTED", lookUpFirst: true });
    await fixture.workAfter(2);
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "SUCCEEDED", keys: 2 }]);
    const own = encodeId("ref", refund.id);
    expect(keys.slice(before)).toEqual([own, `${own}_2`]);
    expect(await atGateway(session)).toHaveLength(1);
  });

  it("is not ended by the refusal of a repeat, for the first request may have made it", async () => {
    const session = await fixture.pay();
    fixture.books.SANDBOX_A.faults.push("loseAnswer", "refuse");
    await fixture.refund(session);
    fixture.books.SANDBOX_A.forgetKeys();
    await fixture.workAfter(1);
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "REQUESTED", sends: 2 }]);
    expect(refundableMinor(await fixture.base.loadSession(session))).toBe(0);
    await fixture.workAfter(2);
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "SUCCEEDED", sends: 2 }]);
    expect(await refundEvents(session)).toEqual(["refund.succeeded"]);
    expect(await atGateway(session)).toHaveLength(1);
  });

  it("fails by the refusal of a repeat where the first request certainly did nothing", async () => {
    const session = await fixture.pay("SANDBOX_B");
    const refusedFor = (gatewayCode: string, definitive: boolean): RefundAnswer => {
      return { type: "refused", definitive, gatewayCode };
    };
    const neverSent: RefundAnswer = { type: "unknown", kind: "GATEWAY_ERROR", reason: "refused", isNeverSent: true };
    fixture.books.SANDBOX_B.faults.push(refusedFor("security", false), neverSent, refusedFor("not_captured", true));
    await fixture.refund(session);
    await fixture.workAfter(1);
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "REQUESTED", sends: 2, unanswered: 0 }]);
    await fixture.workAfter(3);
    expect(await fixture.refundsOf(session)).toMatchObject([
      { status: "FAILED", failureCode: "not_captured", sends: 3 },
    ]);
  });

  it("fails where the gateway has none and refuses the first request under a second key", async () => {
    const session = await fixture.pay();
    fixture.books.SANDBOX_A.faults.push("loseRequest", "refuse", "refuse");
    await fixture.refund(session);
    await fixture.workAfter(1);
    // The first request may still be on its way.
    await fixture.workAfter(59);
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "REQUESTED", keys: 1, absentAt: null }]);
    await fixture.workAfter(62);
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "FAILED", failureCode: "no_refund", keys: 2 }]);
    expect(await atGateway(session)).toHaveLength(0);
  });

  it("waits for a person where its repeat is refused and the gateway cannot be asked", async () => {
    const session = await fixture.pay("SANDBOX_B");
    fixture.books.SANDBOX_B.faults.push("loseAnswer", "refuse");
    await fixture.refund(session);
    fixture.books.SANDBOX_B.forgetKeys();
    await fixture.workAfter(1);
    await fixture.workAfter(3);
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "REQUESTED", sends: 2 }]);
    expect(await itemsOf(fixture.base, session)).toMatchObject([{ kind: "REFUND_UNANSWERED", resolvedAt: null }]);
  });

  it("waits for a person where the gateway cannot be asked", async () => {
    const session = await fixture.pay("SANDBOX_B");
    fixture.books.SANDBOX_B.faults.push("loseAnswer");
    const { id } = await fixture.refund(session);
    fixture.books.SANDBOX_B.forgetKeys();
    await fixture.workAfter(13 * 60);
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "REQUESTED", sends: 1 }]);
    const rule = encodeId("ref", id);
    expect(await itemsOf(fixture.base, session)).toMatchObject([{ kind: "REFUND_UNANSWERED", rule, resolvedAt: null }]);
    await decide(session, { id, type: "succeeded", gatewayReference: "seen-1" });
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "SUCCEEDED", decidedBy: "ada" }]);
    expect(await itemsOf(fixture.base, session)).toMatchObject([{ resolvedAt: expect.any(Date) }]);
    expect(await refundEvents(session)).toEqual(["refund.pending", "refund.succeeded"]);
  });

  it("is a matter for a person where it was made after all, although a person had ended it", async () => {
    const session = await fixture.pay();
    fixture.books.SANDBOX_A.faults.push("loseAnswer");
    const { id } = await fixture.refund(session, { amountMinor: 100 });
    await decide(session, { id, type: "failed" });
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "REQUESTED", sends: 1 }]);
    await fixture.workAfter(61);
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "FAILED", failureCode: "never_made", sends: 1 }]);
    await fixture.refund(session, { amountMinor: 200 });
    expect(await itemsOf(fixture.base, session)).toMatchObject([{ kind: "RECORD_MISMATCH" }]);
  });

  it("raises an alarm and one event after an hour", async () => {
    const session = await fixture.pay();
    fixture.books.SANDBOX_A.faults.push("loseRequest", "loseRequest", "loseRequest");
    await fixture.refund(session);
    await fixture.workAfter(61);
    expect(await refundEvents(session)).toEqual(["refund.pending"]);
    expect(await itemsOf(fixture.base, session)).toMatchObject([{ kind: "REFUND_UNANSWERED" }]);
    await fixture.workAfter(70);
    expect(await refundEvents(session)).toEqual(["refund.pending"]);
    await fixture.workAfter(80);
    expect(await refundEvents(session)).toEqual(["refund.pending", "refund.succeeded"]);
    expect(await itemsOf(fixture.base, session)).toMatchObject([{ resolvedAt: expect.any(Date) }]);
  });
});

describe("a refund that was made by hand at the gateway", () => {
  it("is recorded before the next one is sent, and lowers what can be refunded", async () => {
    const session = await fixture.pay();
    const { reference, books } = await fixture.paymentOf(session);
    books.makeByHand(reference, 4000);
    const sent = books.keys.length;
    const refund = await fixture.refund(session, { amountMinor: 1000 });
    await fixture.work();
    expect((await fixture.refundsOf(session)).find(({ id }) => id === refund.id)).toMatchObject({
      status: "FAILED",
      failureCode: "amount_exceeds_refundable",
      sends: 0,
    });
    expect(books.keys.length).toBe(sent);
    expect((await fixture.refundsOf(session)).find(({ origin }) => origin === "GATEWAY")).toMatchObject({
      amountMinor: 4000,
      status: "SUCCEEDED",
    });
    expect(await fixture.refund(session)).toMatchObject({ amountMinor: 900, status: "SUCCEEDED" });
  });

  it("is ours where it carries our id, as after a restore", async () => {
    const session = await fixture.pay();
    const { reference, books } = await fixture.paymentOf(session);
    const first = await fixture.refund(session, { key: "lost", amountMinor: 1000 });
    await execute("DELETE FROM refund WHERE id = $1", [first.id]);
    await execute("UPDATE payment_session SET refunds = 0 WHERE id = $1", [session.id]);
    expect(await fixture.refund(session, { key: "lost", amountMinor: 1000 })).toMatchObject({ id: first.id, sends: 0 });
    expect(books.of(reference)).toHaveLength(1);
    expect(await fixture.refundsOf(session)).toMatchObject([{ id: first.id, status: "SUCCEEDED" }]);
  });
});

describe("a refund that a restore has lost", () => {
  it("is reported to the merchant as failed where its gateway lists it so", async () => {
    const session = await fixture.pay();
    const { reference, books } = await fixture.paymentOf(session);
    const lost = await fixture.refund(session, { key: "lost to the bank", amountMinor: 1000 });
    await execute("DELETE FROM refund WHERE id = $1", [lost.id]);
    await execute("UPDATE payment_session SET refunds = 0 WHERE id = $1", [session.id]);
    const events = "SELECT sequence FROM outbox_event WHERE session_id = $1 AND type LIKE 'refund.%'";
    await execute(`DELETE FROM event_todo WHERE session_id = $1 AND sequence IN (${events})`, [session.id]);
    await execute("DELETE FROM outbox_event WHERE session_id = $1 AND type LIKE 'refund.%'", [session.id]);
    books.setStatus(books.of(reference)[0]!.gatewayReference, "failed");
    await fixture.refund(session, { amountMinor: 500 });
    const found = (await fixture.refundsOf(session)).find(({ id }) => id === lost.id);
    expect(found).toMatchObject({ status: "FAILED", origin: "GATEWAY" });
    expect((await refundEvents(session)).toSorted()).toEqual(["refund.failed", "refund.succeeded"]);
  });
});

describe("a gateway that refunds only confirmed captures", () => {
  const unconfirm = (session: PaymentSession) =>
    execute("UPDATE payment_session SET capture_confirmed = false WHERE id = $1", [session.id]);
  afterEach(() => {
    fixture.books.SANDBOX_B.needsConfirmedCapture = false;
  });

  it("gets the refund once the capture is confirmed", async () => {
    const session = await fixture.pay("SANDBOX_B");
    fixture.books.SANDBOX_B.needsConfirmedCapture = true;
    await unconfirm(session);
    expect(await fixture.refund(session)).toMatchObject({ status: "REQUESTED", sends: 0 });
    await execute("UPDATE payment_session SET capture_confirmed = true WHERE id = $1", [session.id]);
    await fixture.workAfter(10);
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "SUCCEEDED" }]);
  });

  it("gets none after three days without", async () => {
    const session = await fixture.pay("SANDBOX_B");
    fixture.books.SANDBOX_B.needsConfirmedCapture = true;
    await unconfirm(session);
    await fixture.refund(session);
    await fixture.workAfter(3 * 24 * 60 + 10);
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "FAILED", failureCode: "capture_unconfirmed" }]);
  });
});

describe("a capture that failed afterwards", () => {
  it("ends a refund that was never sent, and allows no other", async () => {
    const session = await fixture.pay("SANDBOX_B");
    fixture.books.SANDBOX_B.needsConfirmedCapture = true;
    await execute("UPDATE payment_session SET capture_confirmed = false WHERE id = $1", [session.id]);
    await fixture.refund(session, { amountMinor: 100 });
    await execute("UPDATE attempt SET capture_failed_at = app.clock() WHERE session_id = $1", [session.id]);
    await fixture.workAfter(10);
    fixture.books.SANDBOX_B.needsConfirmedCapture = false;
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "FAILED", failureCode: "capture_failed" }]);
    await expect(fixture.refund(session)).rejects.toMatchObject({ code: "not_refundable" });
    expect(refundableMinor(await fixture.base.loadSession(session))).toBe(0);
  });
});

describe("a refund that the gateway accepted", () => {
  it("is read until it is on its way, and for a month after that", async () => {
    const session = await fixture.pay();
    fixture.books.SANDBOX_A.faults.push("accept");
    const { gatewayReference } = await fixture.refund(session);
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "PENDING" }]);
    await fixture.workAfter(61);
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "PENDING" }]);
    fixture.books.SANDBOX_A.setStatus(gatewayReference!, "succeeded");
    await fixture.workAfter(122);
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "SUCCEEDED" }]);
    // The bank returns the money days later.
    fixture.books.SANDBOX_A.setStatus(gatewayReference!, "failed");
    await fixture.workAfter(5 * 24 * 60);
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "FAILED", failureCode: "returned" }]);
    expect(await refundEvents(session)).toEqual(["refund.succeeded", "refund.failed"]);
    expect(refundableMinor(await fixture.base.loadSession(session))).toBe(4900);
  });

  it("is a matter for a person after a week", async () => {
    const session = await fixture.pay("SANDBOX_B");
    fixture.books.SANDBOX_B.faults.push("accept");
    await fixture.refund(session);
    await fixture.workAfter(6 * 24 * 60);
    expect(await itemsOf(fixture.base, session)).toEqual([]);
    await fixture.workAfter(7 * 24 * 60 + 1);
    expect(await itemsOf(fixture.base, session)).toMatchObject([{ kind: "REFUND_UNANSWERED" }]);
  });
});

describe("a notification about a refund", () => {
  let notifications = 0;
  async function notify(
    session: PaymentSession,
    of: { kind: string; reference: string; refundId?: string; amountMinor?: number },
  ) {
    const { attempts } = await fixture.base.loadSession(session);
    const { id, connectionId, gatewayReference } = attempts.find(({ status }) => status === "CAPTURED")!;
    await execute(
      `INSERT INTO gateway_notification (connection_id, notification_id, kind, attempt_reference, gateway_reference, amount_minor, currency,
         modification_reference, refund_reference) VALUES ($1, $2, $3, $4, $5, $6, 'EUR', $7, $8)`,
      [
        ...[connectionId, `n${++notifications}`, of.kind, encodeId("att", id), gatewayReference],
        ...[of.amountMinor ?? 4900, of.reference, of.refundId ?? null],
      ],
    );
    await processNotificationsOnce(fixture.core);
  }

  it("ends a refund, before and after the gateway's answer is known", async () => {
    const session = await fixture.pay("SANDBOX_B");
    fixture.books.SANDBOX_B.faults.push("loseAnswer");
    const { id } = await fixture.refund(session);
    await notify(session, { kind: "refunded", reference: "psp-1", refundId: encodeId("ref", id) });
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "SUCCEEDED", gatewayReference: "psp-1" }]);
    await notify(session, { kind: "refund_failed", reference: "psp-1", refundId: encodeId("ref", id) });
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "FAILED" }]);
    expect(await refundEvents(session)).toEqual(["refund.succeeded", "refund.failed"]);
  });

  it("records a refund that was made by hand, once", async () => {
    const session = await fixture.pay("SANDBOX_B");
    await notify(session, { kind: "refunded", reference: "psp-2", amountMinor: 900 });
    await notify(session, { kind: "refunded", reference: "psp-2", amountMinor: 900 });
    expect(await fixture.refundsOf(session)).toMatchObject([
      { origin: "GATEWAY", amountMinor: 900, status: "SUCCEEDED" },
    ]);
    expect(refundableMinor(await fixture.base.loadSession(session))).toBe(4000);
  });

  it("over another amount is a matter for a person", async () => {
    const session = await fixture.pay("SANDBOX_B");
    fixture.books.SANDBOX_B.faults.push("accept");
    const { id } = await fixture.refund(session, { amountMinor: 100 });
    await notify(session, { kind: "refunded", reference: "psp-3", refundId: encodeId("ref", id), amountMinor: 101 });
    // The money has left, so it counts; it is not that of our refund.
    expect(await fixture.refundsOf(session)).toMatchObject([
      { status: "PENDING", amountMinor: 100 },
      { status: "SUCCEEDED", amountMinor: 101, origin: "GATEWAY" },
    ]);
    expect(await itemsOf(fixture.base, session)).toMatchObject([{ kind: "RECORD_MISMATCH" }]);
  });
});

describe("a database that was restored", () => {
  it("sends no refund of an older payment to a gateway that cannot be read, until a person has checked", async () => {
    const session = await fixture.pay("SANDBOX_B");
    await execute("UPDATE replica_mark SET restored_at = app.clock()", []);
    const { id } = await fixture.refund(session);
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "REQUESTED", sends: 0 }]);
    expect(await itemsOf(fixture.base, session)).toMatchObject([{ kind: "REFUND_UNANSWERED" }]);
    await decide(session, { id, type: "send" });
    expect(await fixture.refundsOf(session)).toMatchObject([{ status: "SUCCEEDED" }]);
    const later = await fixture.pay("SANDBOX_B");
    expect(await fixture.refund(later)).toMatchObject({ status: "SUCCEEDED" });
    await execute("UPDATE replica_mark SET restored_at = NULL", []);
  });
});
