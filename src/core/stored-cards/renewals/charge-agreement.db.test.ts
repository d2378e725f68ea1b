/** Charging an agreement: one capture for each renewal, whoever asks for it and however often. */
import { Pool } from "pg";
import { beforeEach, describe, expect, it } from "vitest";
import { forFile } from "../../../dev/testing/for-file.ts";
import { renewalsInFlightMax } from "../../../limits.ts";
import { Database } from "../../../platform/database.ts";
import { encodeId, type MerchantId } from "../../../platform/ids.ts";
import { systemRuntime } from "../../../platform/runtime.ts";
import type { Core } from "../../core.ts";
import type { PaymentSession } from "../../rows/entities.ts";
import { recover } from "../../scenarios/recovery.fixture.ts";
import { cancelAgreement } from "../agreements.ts";
import { retryOf } from "./refusals.ts";
import { startRenewals } from "./renewals.fixture.ts";

const fixture = await forFile(startRenewals);
beforeEach(() => fixture.base.setClockAhead(0));

// Declined for missing funds until the sandbox's next day.
const laterApproved = "4000000000007288";
const day = 86_400_000;
const nothing = { state: undefined };
const idOf = ({ id }: Pick<PaymentSession, "id">) => encodeId("ps", id);
const sessionsOf = async (agreementId: string) => {
  const text = "SELECT count(*)::int AS count FROM stored_payment WHERE agreement_id = $1 AND role = 'RENEWAL'";
  return (await fixture.base.asOwner.query<{ count: number }>({ name: "count", text }, [agreementId]))[0]!.count;
};
const capturedOf = (session: PaymentSession) => fixture.base.capturedAtGateways(session);

describe("the charge of an agreement", () => {
  it("captures without the customer, and answers as the session stands", async () => {
    const agreementId = await fixture.agree();
    const { payment, replayed } = await fixture.charge(agreementId, { metadata: { invoice: "1" } });
    expect(payment.session).toMatchObject({
      status: "SUCCEEDED",
      amountMinor: 900,
      orderRef: "invoice-1",
      cardLast4: "4242",
    });
    expect(payment.stored).toMatchObject({ role: "RENEWAL", agreementId, renewalRef: "invoice-1", try: 1 });
    expect(payment.session.details).toEqual({ metadata: { invoice: "1" } });
    expect(replayed).toBe(false);
    expect(await capturedOf(payment.session)).toBe(1);
    expect(await fixture.base.eventTypes(payment.session)).toEqual(["payment_session.succeeded"]);
  });

  it("answers a repeat of its key as the session stands, and other fields with a refusal", async () => {
    const agreementId = await fixture.agree();
    const key = systemRuntime.uuid();
    const first = await fixture.charge(agreementId, { key });
    const repeated = await fixture.charge(agreementId, { key });
    expect(repeated).toMatchObject({ replayed: true, payment: { session: { id: first.payment.session.id } } });
    await expect(fixture.charge(agreementId, { key, amountMinor: 901 })).rejects.toMatchObject({
      code: "idempotency_key_reused",
    });
    await expect(fixture.charge(agreementId, { key, metadata: { a: "b" } })).rejects.toMatchObject({
      code: "idempotency_key_reused",
    });
    await expect(fixture.charge(agreementId, { key, orderRef: "x" })).rejects.toMatchObject({
      code: "idempotency_key_reused",
    });
    expect(await sessionsOf(agreementId)).toBe(1);
  });

  it("is refused while another key pays the renewal, and once it is paid", async () => {
    const agreementId = await fixture.agree();
    await fixture.base.sandbox.hold("a.authorize");
    const paying = fixture.charge(agreementId);
    await fixture.base.sandbox.paused({ operation: "a.authorize" });
    const refusal = await fixture.charge(agreementId).catch((error: unknown) => error);
    await fixture.base.sandbox.release({});
    const { payment } = await paying;
    const state = { sessionId: idOf(payment.session) };
    expect(refusal).toMatchObject({ code: "renewal_in_progress", retryAfterMs: 1_000, state });
    await expect(fixture.charge(agreementId)).rejects.toMatchObject({ code: "renewal_paid", state });
    expect(await capturedOf(payment.session)).toBe(1);
  });

  it("charges another renewal of the agreement at the same time", async () => {
    const agreementId = await fixture.agree();
    const charges = ["one", "two", "three"].map((renewalRef) => fixture.charge(agreementId, { renewalRef }));
    const ended = await Promise.all(charges);
    expect(ended.map(({ payment }) => payment.session.status)).toEqual(["SUCCEEDED", "SUCCEEDED", "SUCCEEDED"]);
    expect((await fixture.agreement(agreementId)).renewals).toHaveLength(3);
  });

  it("succeeds once, asked by many keys at once", async () => {
    const agreementId = await fixture.agree();
    const asked = await Promise.allSettled(Array.from({ length: 20 }, () => fixture.charge(agreementId)));
    const paid = asked.flatMap((one) => (one.status === "fulfilled" ? [one.value.payment.session] : []));
    expect(paid).toHaveLength(1);
    const codes = new Set(asked.flatMap((one) => (one.status === "rejected" ? [one.reason.code] : [])));
    expect([...codes].every((code) => code === "renewal_in_progress" || code === "renewal_paid")).toBe(true);
    expect(await capturedOf(paid[0]!)).toBe(1);
  });

  it("waits for no renewal of another agreement", async () => {
    const [slow, other] = [await fixture.agree({ storedAs: "4242424242425001" }), await fixture.agree()];
    // One statement of several would have to wait without end.
    const pool = new Pool({ connectionString: fixture.core.database.pool.options.connectionString, pipeline: true });
    const patient: Core = { ...fixture.core, database: new Database(pool, { patienceMs: 0 }) };
    const holder = await fixture.base.asOwner.pool.connect();
    await holder.query("BEGIN");
    const { pid } = (await holder.query<{ pid: number }>("SELECT pg_backend_pid() AS pid")).rows[0]!;
    await holder.query("SELECT FROM agreement WHERE id = $1 FOR UPDATE", [slow]);
    const waiting = [1, 2].map((nth) => fixture.charge(slow, { renewalRef: `${nth}` }, patient));
    const text = "SELECT count(*)::int AS count FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))";
    const blocked = () => fixture.base.asOwner.query<{ count: number }>({ name: "blocked", text }, [pid]);
    await expect.poll(async () => (await blocked())[0]!.count, { timeout: 30_000 }).toBeGreaterThan(0);
    expect((await fixture.charge(other, {}, patient)).payment.session.status).toBe("SUCCEEDED");
    await holder.query("COMMIT");
    holder.release();
    for (const { payment } of await Promise.all(waiting)) expect(payment.session.status).toBe("SUCCEEDED");
    await pool.end();
  });

  it("follows the session of its key, asked by many at once", async () => {
    const agreementId = await fixture.agree();
    const key = systemRuntime.uuid();
    const asked = await Promise.all(Array.from({ length: 10 }, () => fixture.charge(agreementId, { key })));
    expect(new Set(asked.map(({ payment }) => payment.session.id)).size).toBe(1);
    expect(asked.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(asked.every(({ payment }) => payment.session.status === "SUCCEEDED")).toBe(true);
  });

  it("is tried again after a decline, with other names at the gateways", async () => {
    const agreementId = await fixture.agree({ number: laterApproved });
    const { payment: declined } = await fixture.charge(agreementId);
    expect(declined.session).toMatchObject({ status: "DECLINED", declineCode: "insufficient_funds" });
    expect(declined.stored?.renewal).toMatchObject({ tries: 1, refusal: null });
    expect(retryOf(declined.stored!.renewal!)).toMatchObject({ allowed: true, triesLeft: 7, customerNeeded: false });
    await fixture.base.sandbox.setClockAhead(day);
    const { payment: paid } = await fixture.charge(agreementId);
    await fixture.base.sandbox.setClockAhead(0);
    expect(paid.session.status).toBe("SUCCEEDED");
    const ids = [...declined.attempts, ...paid.attempts].map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const { stored } = await fixture.base.loadSession(declined.session);
    expect(retryOf(stored!.renewal!)).toMatchObject({ allowed: false, because: "The renewal is paid." });
  });
});

describe("a charge is refused, and nothing is created, where", () => {
  const refused = async (agreementId: string, error: object, change = {}, core = fixture.core) => {
    const before = await sessionsOf(agreementId);
    await expect(fixture.charge(agreementId, change, core)).rejects.toMatchObject(error);
    expect(await sessionsOf(agreementId)).toBe(before);
  };

  it("there is no such agreement, or it is another merchant's", async () => {
    await refused(systemRuntime.uuid(), { code: "not_found" });
  });

  it("the agreement was cancelled", async () => {
    const agreementId = await fixture.agree();
    await cancelAgreement(fixture.core, { merchantId: fixture.base.owner.merchantId, agreementId }, "merchant");
    await refused(agreementId, { code: "agreement_not_active", state: { status: "CANCELLED" } });
  });

  it("it is more than was agreed, or in another currency", async () => {
    const agreementId = await fixture.agree({ terms: { maxAmountMinor: 899 } });
    await refused(agreementId, { code: "amount_exceeds_agreement", field: "amountMinor", ...nothing });
    await refused(agreementId, { code: "amount_exceeds_agreement" }, { amountMinor: 100, currency: "USD" });
  });

  it("a field breaks its rule", async () => {
    const agreementId = await fixture.agree();
    await refused(
      agreementId,
      { code: "invalid_field", message: expect.stringContaining("currency") },
      { currency: "XXX" },
    );
    await refused(
      agreementId,
      { code: "invalid_field", message: expect.stringContaining("renewalRef") },
      { renewalRef: " " },
    );
  });

  it("the vault opens no card", async () => {
    const agreementId = await fixture.agree();
    fixture.vault.isAway = true;
    await refused(agreementId, { code: "unavailable" });
    fixture.vault.isAway = false;
  });

  it("the vault has lost the card: its agreements need another one, and their merchant gets an event", async () => {
    const agreementId = await fixture.agree();
    const { sessionId } = (await fixture.agreement(agreementId)).agreement;
    fixture.vault.cards.clear();
    await refused(agreementId, { code: "agreement_not_active", state: { status: "NEEDS_CARD" } });
    expect((await fixture.agreement(agreementId)).agreement).toMatchObject({
      status: "NEEDS_CARD",
      statusBecause: "card_lost",
      methodId: null,
    });
    expect((await fixture.base.eventTypes({ id: sessionId })).slice(-2)).toEqual(Array(2).fill("agreement.updated"));
  });

  it("its key has a session that is not kept here any more", async () => {
    const key = systemRuntime.uuid();
    const agreementId = await fixture.agree({ number: laterApproved });
    const other = await fixture.agree();
    const sessions = [
      (await fixture.charge(agreementId, { key })).payment.session,
      (await fixture.charge(other, { key })).payment.session,
    ];
    const gone = ["outbox_event", "event_todo", "stored_payment", "attempt", "payment_session"];
    const removal = gone.map(
      (table) =>
        `DELETE FROM ${table} WHERE ${table === "payment_session" ? "id" : "session_id"} IN (${sessions.map(({ id }) => `'${id}'`).join(", ")})`,
    );
    await fixture.base.asOwner.pool.query(
      `SET session_replication_role = replica; ${removal.join("; ")}; RESET session_replication_role`,
    );
    const named = sessions.map((session) => ({ state: { sessionId: idOf(session) } }));
    await expect(fixture.charge(agreementId, { key })).rejects.toMatchObject({ code: "not_found", ...named[0] });
    await expect(fixture.charge(other, { key })).rejects.toMatchObject({ code: "renewal_paid", ...named[1] });
  });

  it("the vault stores no cards", async () => {
    const agreementId = await fixture.agree();
    const saas: Core = { ...fixture.core, vault: { ...fixture.core.vault, stored: undefined } };
    await expect(fixture.charge(agreementId, {}, saas)).rejects.toMatchObject({ code: "vault_cannot_store" });
  });

  it("renewals use half of the process's places", async () => {
    const agreementId = await fixture.agree();
    const others = Array.from({ length: renewalsInFlightMax }, () => ({ merchantId: systemRuntime.uuid() }));
    const full: Core = { ...fixture.core, renewals: new Set(others) };
    await expect(fixture.charge(agreementId, {}, full)).rejects.toMatchObject({ code: "unavailable" });
    expect(full.renewals.size).toBe(renewalsInFlightMax);
    expect(await sessionsOf(agreementId)).toBe(0);
  });

  it("waits for its turn while customers pay, and for ten seconds after the last of them", async () => {
    const slept: number[] = [];
    let nowMs = Date.now();
    const runtime = { ...fixture.core.runtime, now: () => new Date(nowMs) };
    const inFlight = new Set<Promise<unknown>>([new Promise(() => {})]);
    const sleep: Core["sleep"] = (ms, signal) => {
      slept.push(ms);
      return ms === 200 ? Promise.resolve() : fixture.core.sleep(ms, signal);
    };
    const busy: Core = { ...fixture.core, renewals: new Set(), inFlight, runtime, sleep };
    const renew = async () => {
      const { payment } = await fixture.charge(await fixture.agree(), {}, busy);
      expect(payment.session.status).toBe("SUCCEEDED");
    };
    const waits = () => slept.filter((ms) => ms === 200).length;
    await renew();
    expect(waits()).toBe(1);
    inFlight.clear();
    nowMs += 9_999;
    await renew();
    expect(waits()).toBe(2);
    await Promise.all(inFlight);
    nowMs += 10_000;
    await Promise.all([renew(), renew()]);
    expect(waits()).toBe(2);
  });

  it("those of its merchant use their part of the places, which leaves room for another merchant", async () => {
    const agreementId = await fixture.agree();
    const { merchantId } = fixture.base.owner;
    const using = (count: number, by: MerchantId) => Array.from({ length: count }, () => ({ merchantId: by }));
    const busyWith = (...all: { merchantId: MerchantId }[]): Core => ({ ...fixture.core, renewals: new Set(all) });
    const [other, half] = [systemRuntime.uuid(), renewalsInFlightMax / 2];
    await refused(agreementId, { code: "unavailable" }, {}, busyWith(...using(half, merchantId)));
    const third = Math.floor(renewalsInFlightMax / 3);
    await refused(agreementId, { code: "unavailable" }, {}, busyWith(...using(third, merchantId), ...using(1, other)));
    const { payment } = await fixture.charge(
      agreementId,
      {},
      busyWith(...using(half, other), ...using(third - 1, merchantId)),
    );
    expect(payment.session.status).toBe("SUCCEEDED");
  });
});

describe("a renewal that is under way", () => {
  it("ends as it began, whatever becomes of its agreement", async () => {
    const agreementId = await fixture.agree();
    await fixture.base.sandbox.hold("a.authorize");
    const paying = fixture.charge(agreementId);
    await fixture.base.sandbox.paused({ operation: "a.authorize" });
    await cancelAgreement(fixture.core, { merchantId: fixture.base.owner.merchantId, agreementId }, "merchant");
    await fixture.base.sandbox.release({});
    expect((await paying).payment.session.status).toBe("SUCCEEDED");
    await expect(fixture.charge(agreementId, { renewalRef: "next" })).rejects.toMatchObject({
      code: "agreement_not_active",
    });
  });

  it("keeps its renewal while its capture is unanswered", async () => {
    const agreementId = await fixture.agree();
    await fixture.base.sandbox.hold("a.capture");
    const paying = fixture.charge(agreementId);
    await fixture.base.sandbox.paused({ operation: "a.capture" });
    await fixture.base.setClockAhead(60);
    await expect(fixture.charge(agreementId)).rejects.toMatchObject({ code: "renewal_in_progress" });
    await fixture.base.sandbox.release({});
    expect((await paying).payment.session.status).toBe("SUCCEEDED");
  });

  it("is resumed after its process died, and passes on only once it has ended", async () => {
    const agreementId = await fixture.agree();
    // The process dies between the commit and the request.
    const dying: Core = { ...fixture.core, inFlight: new Set(), bind: () => new Promise(() => {}) };
    const aborted = AbortSignal.abort();
    const { payment } = await fixture.charge(agreementId, { signal: aborted }, dying);
    expect(payment.attempts).toMatchObject([{ status: "AUTHORIZING" }]);
    await expect(fixture.charge(agreementId)).rejects.toMatchObject({ code: "renewal_in_progress" });
    await recover(fixture.base, fixture.core, payment.session);
    await fixture.base.setClockAhead(2);
    for (let turn = 0; turn < 3; turn++) await recover(fixture.base, fixture.core, payment.session);
    const { session } = await fixture.base.loadSession(payment.session);
    if (session.status !== "SUCCEEDED") {
      expect(session.status).toBe("DEGRADED");
      expect((await fixture.charge(agreementId)).payment.session.status).toBe("SUCCEEDED");
    }
    const names = [payment.session, session].map(({ namedBy }) => namedBy);
    expect(new Set(names).size).toBe(1);
  });
});
