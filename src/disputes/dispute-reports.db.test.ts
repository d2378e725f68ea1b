/** Adyen's notices of disputes, from the signature to the row, in whatever order they arrive. The titles name the rules of docs/disputes.md. */
import { v7 } from "uuid";
import { describe, expect, it, vi } from "vitest";
import { openWorkItem } from "../core/record/work-items.ts";
import type { Attempt, PaymentSession } from "../core/rows/entities.ts";
import { type CoreFixture, cards } from "../core/scenarios/core.fixture.ts";
import { itemsOf } from "../core/scenarios/recovery.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import type { SignedFields } from "../gateways/adyen/notification-signature.ts";
import { bodyOf, itemOf, startAdyenNotifications } from "../oversight/notifications/adyen-notifications.fixture.ts";
import { processNotificationsOnce } from "../oversight/notifications/process-notifications.ts";
import { encodeId } from "../platform/ids.ts";
import { requestRefund } from "../refunds/request-refund.ts";

const adyen = await forFile(startAdyenNotifications);
const fixture: CoreFixture = adyen.fixture;
await adyen.listen(false);

const noticeOf = (
  attempt: Attempt,
  eventCode: string,
  fields: Partial<SignedFields> & { readonly psp?: string } = {},
  additionalData = {},
  rest = {},
) => {
  const { NotificationRequestItem: item } = itemOf(attempt, { psp: "D", eventCode, ...fields }, additionalData);
  return { NotificationRequestItem: { ...item, ...rest } };
};
const take = async (attempt: Attempt, ...eventCodes: string[]) => {
  for (const eventCode of eventCodes) await adyen.take(bodyOf(noticeOf(attempt, eventCode)));
};
const waiting = async () => {
  const text = "SELECT count(*)::int AS count FROM gateway_notification WHERE processed_at IS NULL";
  return (await fixture.core.database.query<{ count: number }>({ name: "waiting", text }, []))[0]!.count;
};
const disputesOf = async (session: PaymentSession) => (await fixture.loadSession(session)).disputes ?? [];
const later = async (minutes: number) => {
  await fixture.after(minutes, () => processNotificationsOnce(fixture.core));
};

describe("a dispute at Adyen", () => {
  it("holds the money of the payment from its notice on, and frees it when the chargeback is reversed", async () => {
    const { session, attempt } = await adyen.pay(cards.approved);
    const extra = {
      chargebackReasonCode: " 13.1",
      chargebackSchemeCode: "visa",
      defensePeriodEndsAt: "2026-12-20T03:03:08+02:00",
    };
    await adyen.take(bodyOf(noticeOf(attempt, "NOTIFICATION_OF_CHARGEBACK", {}, extra)));
    expect(await disputesOf(session)).toMatchObject([
      {
        gateway: "ADYEN",
        gatewayReference: `D${attempt.id}`,
        stage: "CHARGEBACK",
        status: "NEEDS_RESPONSE",
        amountMinor: 4900,
        heldMinor: 4900,
        reason: "not_received",
        networkReasonCode: "13.1",
        network: "visa",
        respondBy: new Date("2026-12-20T01:03:08Z"),
        movements: [],
      },
    ]);
    const { id: sessionId, merchantId } = session;
    const asked = { sessionId, merchantId, key: "back" };
    await expect(requestRefund(fixture.core, asked)).rejects.toMatchObject({ code: "payment_disputed" });
    await take(attempt, "CHARGEBACK", "INFORMATION_SUPPLIED", "CHARGEBACK_REVERSED");
    expect(await disputesOf(session)).toMatchObject([
      {
        status: "WON",
        heldMinor: 0,
        movements: [{ type: "CHARGEBACK" }, { type: "CHARGEBACK_REVERSED", amountMinor: 4900 }],
      },
    ]);
    expect((await requestRefund(fixture.core, asked)).refund).toMatchObject({ amountMinor: 4900 });
    expect((await fixture.eventTypes(session)).filter((type) => type.startsWith("dispute"))).toEqual([
      ...["dispute.created", "dispute.updated", "dispute.updated", "dispute.closed"],
    ]);
  });

  it("D5: comes to the same in another order, with repeats, and in one body", async () => {
    const codes = ["REQUEST_FOR_INFORMATION", "CHARGEBACK", "CHARGEBACK_REVERSED", "SECOND_CHARGEBACK"];
    const seen = new Set<string>();
    for (const order of [codes, codes.toReversed(), [codes[2]!, codes[0]!, codes[3]!, codes[1]!, ...codes]]) {
      const { session, attempt } = await adyen.pay(cards.approved);
      await adyen.take(bodyOf(...order.slice(0, 2).map((code) => noticeOf(attempt, code))));
      await take(attempt, ...order.slice(2));
      const [{ stage, status, heldMinor, movements } = {} as never] = await disputesOf(session);
      const sums = Object.groupBy(movements, ({ type }) => type);
      const total = Object.entries(sums).map(([type, rows]) => [
        type,
        rows!.reduce((sum, row) => sum + row.amountMinor, 0),
      ]);
      seen.add(JSON.stringify({ stage, status, heldMinor, total: total.toSorted() }));
    }
    expect([...seen].map((one) => JSON.parse(one))).toEqual([
      {
        stage: "CHARGEBACK",
        status: "LOST",
        heldMinor: 4900,
        total: [
          ["CHARGEBACK", 9800],
          ["CHARGEBACK_REVERSED", 4900],
        ],
      },
    ]);
  });

  it("D6: is changed by no field that Adyen does not sign", async () => {
    const { session, attempt } = await adyen.pay(cards.approved);
    const deadline = (defensePeriodEndsAt: string) => ({ defensePeriodEndsAt });
    await adyen.take(bodyOf(noticeOf(attempt, "CHARGEBACK", {}, deadline("2026-12-20T00:00:00Z"))));
    const [before] = await disputesOf(session);
    const forged = { eventDate: "2026-12-02T00:00:00Z", reason: "x" };
    const unsigned = { ...deadline("2028-01-01T00:00:00Z"), disputeStatus: "Won", chargebackReasonCode: "10.4" };
    await adyen.take(bodyOf(noticeOf(attempt, "CHARGEBACK", {}, unsigned, forged)));
    const notices = [...before!.notices, expect.objectContaining({ event: "charged", isRepeat: true })];
    expect(await disputesOf(session)).toEqual([{ ...before, notices, updatedAt: expect.any(Date) }]);
    await adyen.take(bodyOf(noticeOf(attempt, "NOTIFICATION_OF_CHARGEBACK", {}, deadline("2028-01-01T00:00:00Z"))));
    expect((await disputesOf(session))[0]).toMatchObject({ respondBy: new Date("2026-12-20T00:00:00Z") });
    const stranger = itemOf(attempt, { psp: "D", eventCode: "CHARGEBACK_REVERSED" }, {}, "AB".repeat(32));
    await expect(adyen.take(bodyOf(stranger))).rejects.toMatchObject({ code: "invalid_key" });
    await adyen.take(bodyOf(noticeOf(attempt, "CHARGEBACK_REVERSED", { success: "false" })));
    expect((await disputesOf(session))[0]).toMatchObject({ status: "NEEDS_RESPONSE" });
  });

  const onDay = (attempt: Attempt, eventCode: string, day: string, fields: Partial<SignedFields> = {}, extra = {}) =>
    adyen.take(bodyOf(noticeOf(attempt, eventCode, fields, extra, { eventDate: `2026-12-0${day}T00:00:00Z` })));

  it("D6: that may be charged back a second time holds the money in any order, and is a matter for a person", async () => {
    const events = [
      ["CHARGEBACK", "1"],
      ["CHARGEBACK_REVERSED", "2"],
      ["CHARGEBACK", "3"],
    ] as const;
    for (const order of [events, events.toReversed(), [events[0], events[2], events[1]]]) {
      const { session, attempt } = await adyen.pay(cards.approved);
      for (const [eventCode, day] of [...order, ...order]) await onDay(attempt, eventCode, day);
      expect(await disputesOf(session)).toMatchObject([
        { status: "WON", heldMinor: 4900, movements: { length: 2 }, notices: { length: 3 } },
      ]);
      expect(await itemsOf(fixture, session)).toMatchObject([{ kind: "RECORD_MISMATCH" }]);
    }
  });

  it("D6: holds the money although its last reversal may have arrived, because a repeat looks the same", async () => {
    const { session, attempt } = await adyen.pay(cards.approved);
    await take(attempt, "CHARGEBACK", "CHARGEBACK_REVERSED", "SECOND_CHARGEBACK", "PREARBITRATION_WON");
    for (const day of ["4", "5", "6"]) await onDay(attempt, "CHARGEBACK_REVERSED", day);
    expect(await disputesOf(session)).toMatchObject([{ status: "WON", heldMinor: 4900, notices: { length: 5 } }]);
    expect(await itemsOf(fixture, session)).toMatchObject([{ kind: "RECORD_MISMATCH" }]);
  });

  it("holds nothing once parts of different amounts have all come back", async () => {
    const { session, attempt } = await adyen.pay(cards.approved);
    await take(attempt, "CHARGEBACK");
    for (const [value, heldMinor] of [
      [2000, 2900],
      [2900, 0],
    ] as const) {
      await adyen.take(bodyOf(noticeOf(attempt, "CHARGEBACK_REVERSED", { value })));
      expect(await disputesOf(session)).toMatchObject([{ status: "WON", heldMinor }]);
    }
    expect(await itemsOf(fixture, session)).toEqual([]);
  });

  it("takes the earlier deadline of a repeat, and no other field of it", async () => {
    const { session, attempt } = await adyen.pay(cards.approved);
    for (const [day, defensePeriodEndsAt, chargebackReasonCode] of [
      ["1", "2026-12-20T00:00:00Z", "13.1"],
      ["2", "2026-12-18T00:00:00Z", "10.4"],
    ] as const)
      await onDay(attempt, "NOTIFICATION_OF_CHARGEBACK", day, {}, { defensePeriodEndsAt, chargebackReasonCode });
    const respondBy = new Date("2026-12-18T00:00:00Z");
    expect(await disputesOf(session)).toMatchObject([{ respondBy, networkReasonCode: "13.1" }]);
    expect(await itemsOf(fixture, session)).toEqual([]);
  });

  it("is found by its own reference where a notice names no payment, also when that one comes first", async () => {
    const { session, attempt } = await adyen.pay(cards.approved);
    const nameless = { originalReference: "", merchantReference: "" };
    await adyen.take(
      bodyOf(noticeOf(attempt, "CHARGEBACK_REVERSED", nameless), noticeOf(attempt, "ISSUER_COMMENTS", nameless)),
    );
    expect(await disputesOf(session)).toEqual([]);
    await take(attempt, "CHARGEBACK");
    await later(5);
    expect(await disputesOf(session)).toMatchObject([{ status: "WON", notices: { length: 3 } }]);
  });

  it("is found by the attempt where a notice does not name the authorization", async () => {
    const { session, attempt } = await adyen.pay(cards.approved);
    await adyen.take(bodyOf(noticeOf(attempt, "CHARGEBACK", { originalReference: "" })));
    expect(await disputesOf(session)).toMatchObject([{ heldMinor: 4900 }]);
  });

  it("waits for a payment of ours that a restore may bring back, and is dropped with a line in the log", async () => {
    const warn = vi.spyOn(fixture.core.log, "warn");
    const { session, attempt } = await adyen.pay(cards.approved);
    const lost = { originalReference: `L${attempt.id}`, merchantReference: encodeId("att", v7()) };
    await adyen.take(bodyOf(noticeOf(attempt, "CHARGEBACK", lost)));
    expect([await waiting(), warn.mock.calls.length]).toEqual([1, 0]);
    await later(3 * 24 * 60 + 10);
    expect(await waiting()).toBe(0);
    await adyen.take(
      bodyOf(noticeOf(attempt, "CHARGEBACK", { psp: "F", originalReference: "8535", merchantReference: "order-7" })),
    );
    const reason = (why: string) => ({ kind: "charged", reason: expect.stringContaining(why) });
    expect(warn.mock.calls).toEqual([
      [reason("for three days"), "a notice about a dispute is dropped"],
      [reason("its payment was not made here"), "a notice about a dispute is dropped"],
    ]);
    warn.mockRestore();
    expect(await disputesOf(session)).toEqual([]);
  });

  it("is a matter for a person if it names an attempt of ours, and the authorization of another payment", async () => {
    const { session, attempt } = await adyen.pay(cards.approved);
    await adyen.take(bodyOf(noticeOf(attempt, "CHARGEBACK", { originalReference: "8535296650153317" })));
    expect(await disputesOf(session)).toEqual([]);
    expect(await itemsOf(fixture, session)).toMatchObject([
      { kind: "RECORD_MISMATCH", detail: expect.stringContaining("another payment") },
    ]);
  });

  it("is one although another matter of the attempt is open", async () => {
    const { session, attempt } = await adyen.pay(cards.approved);
    const other = { kind: "RECORD_MISMATCH", sessionId: session.id, attemptId: attempt.id, detail: "another" } as const;
    await openWorkItem(fixture.core.database, fixture.core, other);
    await adyen.take(bodyOf(noticeOf(attempt, "CHARGEBACK", { originalReference: "8535296650153317" })));
    expect(await itemsOf(fixture, session)).toHaveLength(2);
  });

  it("is ignored if its payment is not ours, and forgotten after three days if it names none", async () => {
    const { session, attempt } = await adyen.pay(cards.approved);
    const foreign = { originalReference: "8535296650153317", merchantReference: "order-77" };
    await adyen.take(bodyOf(noticeOf(attempt, "CHARGEBACK", foreign)));
    await adyen.take(bodyOf(noticeOf(attempt, "SECOND_CHARGEBACK", { originalReference: "", merchantReference: "" })));
    expect(await waiting()).toBe(1);
    await later(3 * 24 * 60 + 10);
    expect(await waiting()).toBe(0);
    expect(await disputesOf(session)).toEqual([]);
  });

  it("holds all that was captured where it names another currency, or no amount", async () => {
    for (const fields of [{ currency: "USD", value: 100 }, { value: -5 }, { currency: "XXX" }]) {
      const { session, attempt } = await adyen.pay(cards.approved);
      await adyen.take(bodyOf(noticeOf(attempt, "CHARGEBACK", fields)));
      expect(await disputesOf(session)).toMatchObject([{ heldMinor: 4900 }]);
    }
  });

  it("has a row of its own as a fraud warning, which holds nothing", async () => {
    const { session, attempt } = await adyen.pay(cards.approved);
    await take(attempt, "NOTIFICATION_OF_FRAUD");
    expect(await disputesOf(session)).toMatchObject([
      { stage: "FRAUD_WARNING", status: "CLOSED", reason: "fraudulent", heldMinor: 0 },
    ]);
    await take(attempt, "CHARGEBACK");
    expect(await disputesOf(session)).toMatchObject([
      { stage: "FRAUD_WARNING" },
      { stage: "CHARGEBACK", heldMinor: 4900 },
    ]);
    expect(await fixture.eventTypes(session)).toEqual([
      "payment_session.succeeded",
      "dispute.created",
      "dispute.created",
    ]);
  });

  it("D1: of a payment that ended without a capture is a matter for a person", async () => {
    const { session, attempt } = await adyen.pay(cards.fraud);
    await take(attempt, "CHARGEBACK");
    expect(await disputesOf(session)).toEqual([]);
    expect(await itemsOf(fixture, session)).toMatchObject([{ kind: "RECORD_MISMATCH" }]);
  });

  it("D1: waits for the capture of its payment to be recorded", async () => {
    const { session, attempt } = await adyen.payWith(async () => ({
      type: "unknown",
      kind: "TIMEOUT",
      reason: "lost",
    }));
    expect(await adyen.stateOf(session)).toMatchObject({ status: "CREATED" });
    await take(attempt, "CHARGEBACK");
    expect([await disputesOf(session), await itemsOf(fixture, session)]).toEqual([[], []]);
  });
});
