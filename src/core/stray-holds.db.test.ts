import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { VoidAnswer } from "../gateways/connector.ts";
import { processNoticesOnce } from "../notifications/process-notices.ts";
import { encodeId } from "../platform/ids.ts";
import { Secret } from "../platform/secrets.ts";
import { compareOnce } from "./compare.ts";
import { listComparisonRuns } from "./comparison-runs.ts";
import { type CoreFixture, cards, startCoreFixture } from "./core-fixture.ts";
import type { Attempt, PaymentSession } from "./entities.ts";
import { authorizeLate, itemsOf, statusAtGateway, withAnswers, withoutConnectors } from "./recovery-fixture.ts";
import { recordStray, voidStraysOnce } from "./stray-holds.ts";
import { submitPayment } from "./submit-payment.ts";

let fixture: CoreFixture;
let minutes = 0;
beforeAll(async () => {
  fixture = await startCoreFixture();
  await fixture.setRule([]);
});
afterAll(() => fixture.close());
afterEach(async () => {
  await fixture.sandbox.release({});
  await fixture.sandbox.setDown("A", false);
});

type Paid = { session: PaymentSession; attempt: Attempt };

async function paid(card: string, connection = 0): Promise<Paid> {
  await fixture.setRule([], [fixture.connectionIds[connection]!]);
  const session = await fixture.newSession();
  await fixture.submit(session, card);
  await Promise.all(fixture.core.inFlight);
  return { session, attempt: (await fixture.trail(session)).attempts[0]! };
}

/** Moves on by hours, past the next pass, and makes it. */
async function compare(): Promise<void> {
  minutes += 62;
  await fixture.setClockAhead(minutes);
  while (await compareOnce(fixture.core));
}

type StrayRow = { gateway_reference: string; found_by: string; tries: number; outcome: string | null; waits: boolean };

async function straysOf({ attempt }: Paid): Promise<StrayRow[]> {
  const text = `SELECT gateway_reference, found_by, tries, outcome, next_try_at > app.clock() AS waits
    FROM stray_hold WHERE attempt_id = $1`;
  return fixture.core.database.query<StrayRow>({ name: "strays", text }, [attempt.id]);
}

const strayOf = ({ attempt }: Paid, gatewayReference: string) => ({
  sessionId: attempt.sessionId,
  attemptId: attempt.id,
  gatewayReference,
});

describe("a stray hold at a gateway that can be read", () => {
  it("is found by the comparison and voided, and the payment's own rows stay as they were", async () => {
    const payment = await paid(cards.softDecline);
    const before = await fixture.trail(payment.session);
    const reference = await authorizeLate(fixture, payment.attempt);
    await compare();
    expect((await listComparisonRuns(fixture.core.database, { after: undefined, count: 1 }))[0]).toMatchObject({
      strays: 1,
    });
    expect(await straysOf(payment)).toMatchObject([{ gateway_reference: reference, found_by: "comparison", tries: 0 }]);
    expect(await itemsOf(fixture, payment.session)).toMatchObject([{ kind: "STRAY_HOLD", resolvedAt: null }]);
    expect(await voidStraysOnce(fixture.core)).toBe(false);
    expect(await statusAtGateway(fixture, payment.attempt, reference)).toBe("voided");
    expect(await straysOf(payment)).toMatchObject([{ outcome: "VOIDED", tries: 1, waits: null }]);
    expect(await itemsOf(fixture, payment.session)).toMatchObject([{ resolvedAt: expect.any(Date), closedAt: null }]);
    const { readAt: _, ...after } = await fixture.trail(payment.session);
    expect({ ...after, readAt: before.readAt }).toEqual(before);
  });

  it("is found beside the hold that was the attempt's own, which was given back", async () => {
    const refusing = withAnswers(fixture.core, {
      capture: async () => ({ type: "refused", definitive: true, gatewayCode: "expired" }),
    });
    await fixture.setRule([], [fixture.connectionIds[0]!]);
    const session = await fixture.newSession();
    fixture.useCard(cards.approved);
    const submission = { session, vaultToken: new Secret("tok_1"), signal: AbortSignal.abort() };
    await submitPayment(refusing, submission);
    await Promise.all(refusing.inFlight);
    const payment = { session, attempt: (await fixture.trail(session)).attempts[0]! };
    expect(payment.attempt).toMatchObject({ status: "VOIDED", gatewayReference: expect.any(String) });
    const reference = await authorizeLate(fixture, payment.attempt);
    await compare();
    expect(await straysOf(payment)).toMatchObject([{ gateway_reference: reference }]);
    await voidStraysOnce(fixture.core);
    expect(await statusAtGateway(fixture, payment.attempt, reference)).toBe("voided");
  });

  it("is left alone from the moment that another attempt has its reference", async () => {
    const stray = await paid(cards.softDecline);
    const reference = await authorizeLate(fixture, stray.attempt);
    await recordStray(fixture.core, strayOf(stray, reference), "comparison");
    const other = await paid(cards.approved);
    await fixture.asOwner.pool.query(`ALTER TABLE attempt DISABLE TRIGGER USER;
      UPDATE attempt SET gateway_reference = '${reference}' WHERE id = '${other.attempt.id}';
      ALTER TABLE attempt ENABLE TRIGGER USER`);
    await voidStraysOnce(fixture.core);
    expect(await statusAtGateway(fixture, stray.attempt, reference)).toBe("held");
    expect(await straysOf(stray)).toMatchObject([{ outcome: null, waits: true }]);
  });

  it("is voided until the gateway acknowledges, with pauses between", async () => {
    const payment = await paid(cards.softDecline);
    const reference = await authorizeLate(fixture, payment.attempt);
    await recordStray(fixture.core, strayOf(payment, reference), "comparison");
    await fixture.sandbox.setDown("A", true);
    await voidStraysOnce(fixture.core);
    expect(await straysOf(payment)).toMatchObject([{ tries: 1, outcome: null, waits: true }]);
    await voidStraysOnce(fixture.core);
    expect(await straysOf(payment)).toMatchObject([{ tries: 1 }]);
    await fixture.sandbox.setDown("A", false);
    await fixture.setClockAhead(++minutes);
    await voidStraysOnce(fixture.core);
    expect(await straysOf(payment)).toMatchObject([{ tries: 2, outcome: "VOIDED" }]);
  });

  it("is repeated, and stays on the work list, while there is no connector for it", async () => {
    const payment = await paid(cards.softDecline);
    const reference = await authorizeLate(fixture, payment.attempt);
    await recordStray(fixture.core, strayOf(payment, reference), "comparison");
    await voidStraysOnce(withoutConnectors(fixture.core));
    expect(await straysOf(payment)).toMatchObject([{ tries: 1, outcome: null, waits: true }]);
    expect(await itemsOf(fixture, payment.session)).toMatchObject([{ kind: "STRAY_HOLD", resolvedAt: null }]);
    await fixture.setClockAhead(++minutes);
    await voidStraysOnce(fixture.core);
  });

  it("is left to another worker by one that is being stopped", async () => {
    const payment = await paid(cards.softDecline);
    const reference = await authorizeLate(fixture, payment.attempt);
    await recordStray(fixture.core, strayOf(payment, reference), "comparison");
    await voidStraysOnce(fixture.core, AbortSignal.abort());
    expect(await straysOf(payment)).toMatchObject([{ tries: 0, outcome: null }]);
    await voidStraysOnce(fixture.core);
    expect(await straysOf(payment)).toMatchObject([{ outcome: "VOIDED" }]);
  });

  it("is begun anew when a read finds it held again, with its row unsettled", async () => {
    const payment = await paid(cards.softDecline);
    const reference = await authorizeLate(fixture, payment.attempt);
    await recordStray(fixture.core, strayOf(payment, reference), "comparison");
    await voidStraysOnce(withAnswers(fixture.core, { void: async () => ({ type: "absent" }) }));
    expect(await straysOf(payment)).toMatchObject([{ outcome: "GONE" }]);
    expect(await recordStray(fixture.core, strayOf(payment, reference), "notice")).toBe(false);
    expect(await recordStray(fixture.core, strayOf(payment, reference), "comparison")).toBe(true);
    expect(await itemsOf(fixture, payment.session)).toMatchObject([{ kind: "STRAY_HOLD", resolvedAt: null }]);
    await voidStraysOnce(fixture.core);
    expect(await statusAtGateway(fixture, payment.attempt, reference)).toBe("voided");
  });

  it("is left to a person when it was captured meanwhile", async () => {
    const payment = await paid(cards.softDecline);
    const reference = await authorizeLate(fixture, payment.attempt);
    await recordStray(fixture.core, strayOf(payment, reference), "comparison");
    await voidStraysOnce(
      withAnswers(fixture.core, { void: async (): Promise<VoidAnswer> => ({ type: "alreadyCaptured" }) }),
    );
    expect(await straysOf(payment)).toMatchObject([{ outcome: "CAPTURED" }]);
    const items = await itemsOf(fixture, payment.session);
    expect(items.map(({ kind, resolvedAt }) => [kind, resolvedAt])).toEqual([
      ["STRAY_HOLD", null],
      ["RECORD_MISMATCH", null],
    ]);
  });
});

describe("recordStray()", () => {
  it("never touches the hold of an attempt that is not final", async () => {
    await fixture.setRule([], [fixture.connectionIds[0]!]);
    const session = await fixture.newSession();
    await fixture.sandbox.hold("a.capture");
    const paying = fixture.submit(session, cards.approved);
    await fixture.sandbox.paused({ operation: "a.capture" });
    const attempt = (await fixture.trail(session)).attempts[0]!;
    expect(attempt.status).toBe("AUTHORIZED");
    const stray = strayOf({ session, attempt }, attempt.gatewayReference!);
    expect(await recordStray(fixture.core, stray, "comparison")).toBe(false);
    const insert = `INSERT INTO stray_hold (session_id, attempt_id, gateway_reference, found_by, next_try_at)
      VALUES ($1, $2, $3, 'comparison', app.clock())`;
    const values = [session.id, attempt.id, attempt.gatewayReference];
    await expect(fixture.core.database.query({ name: "insert_stray", text: insert }, values)).rejects.toThrow(
      "final without a hold",
    );
    await fixture.sandbox.release({ operation: "a.capture" });
    expect((await paying).status).toBe("SUCCEEDED");
    await expect(fixture.core.database.query({ name: "insert_stray", text: insert }, values)).rejects.toThrow(
      "final without a hold",
    );
  });

  it("asks a person where the gateway names the hold of another attempt, and voids nothing", async () => {
    const kept = await paid(cards.approved);
    const declined = await paid(cards.softDecline);
    const reference = kept.attempt.gatewayReference!;
    expect(await recordStray(fixture.core, strayOf(declined, reference), "comparison")).toBe(false);
    expect(await itemsOf(fixture, declined.session)).toMatchObject([{ kind: "RECORD_MISMATCH" }]);
    expect(await straysOf(declined)).toEqual([]);
    const insert = `INSERT INTO stray_hold (session_id, attempt_id, gateway_reference, found_by, next_try_at)
      VALUES ($1, $2, $3, 'comparison', app.clock())`;
    const values = [declined.session.id, declined.attempt.id, reference];
    await expect(fixture.core.database.query({ name: "insert_stray", text: insert }, values)).rejects.toThrow(
      "of no other attempt",
    );
    await voidStraysOnce(fixture.core);
    expect(await statusAtGateway(fixture, kept.attempt, reference)).toBe("captured");
  });
});

describe("a stray hold at a gateway that only sends notices", () => {
  it("is found by the late notice of the hold, and voided until that is reported", async () => {
    const payment = await paid(cards.softDecline, 1);
    const reference = await authorizeLate(fixture, payment.attempt);
    await expect.poll(() => straysOf(payment)).toMatchObject([{ gateway_reference: reference, found_by: "notice" }]);
    await fixture.sandbox.hold("b.notice");
    await voidStraysOnce(fixture.core);
    expect(await straysOf(payment)).toMatchObject([{ tries: 1, outcome: null, waits: true }]);
    expect(await statusAtGateway(fixture, payment.attempt, reference)).toBe("voided");
    await fixture.sandbox.release({});
    await expect.poll(() => straysOf(payment)).toMatchObject([{ waits: false }]);
    await voidStraysOnce(fixture.core);
    expect(await straysOf(payment)).toMatchObject([{ outcome: "VOIDED" }]);
    expect(await itemsOf(fixture, payment.session)).toMatchObject([
      { kind: "STRAY_HOLD", resolvedAt: expect.any(Date) },
    ]);
  });

  it("is not begun anew by a comparison that knows nothing but the same old notice", async () => {
    const payment = await paid(cards.softDecline, 1);
    await expect.poll(async () => (await noticesOf(payment)).length).toBe(1);
    await takeNotice(payment, "held");
    await processNoticesOnce(fixture.core);
    expect(await straysOf(payment)).toMatchObject([{ gateway_reference: "r7", found_by: "notice" }]);
    await voidStraysOnce(withAnswers(fixture.core, { void: async () => ({ type: "absent" }) }));
    await compare();
    expect(await straysOf(payment)).toMatchObject([{ outcome: "GONE", tries: 1 }]);
    expect(await itemsOf(fixture, payment.session)).toMatchObject([{ resolvedAt: expect.any(Date) }]);
  });

  it("is not seen in the late notice of the hold that was given back", async () => {
    await fixture.sandbox.hold("b.notice");
    const payment = await givenBack();
    expect(payment.attempt).toMatchObject({ status: "VOIDED", gatewayReference: expect.any(String) });
    await takeNotice(payment, "held", payment.attempt.gatewayReference!);
    await processNoticesOnce(fixture.core);
    expect(await straysOf(payment)).toEqual([]);
  });

  it("is not seen in the notice of a hold that is reported voided already, nor in one of the payment itself", async () => {
    const payment = await paid(cards.softDecline, 1);
    await expect.poll(async () => (await noticesOf(payment)).length).toBe(1);
    await takeNotice(payment, "voided");
    await takeNotice(payment, "held");
    await processNoticesOnce(fixture.core);
    expect(await noticesOf(payment)).toHaveLength(3);
    expect(await straysOf(payment)).toEqual([]);
    const approved = await paid(cards.approved, 1);
    await expect.poll(async () => (await noticesOf(approved)).length).toBe(2);
    expect(await straysOf(approved)).toEqual([]);
    const readable = await paid(cards.softDecline);
    await takeNotice(readable, "held");
    await processNoticesOnce(fixture.core);
    expect(await straysOf(readable)).toEqual([]);
  });
});

/** A notice about an authorization (`r7` when not told) of this payment, as the intake would store it. */
async function takeNotice({ attempt }: Paid, kind: string, reference = "r7"): Promise<void> {
  const text = `
    INSERT INTO gateway_notice (connection_id, notice_id, kind, attempt_reference, gateway_reference)
    VALUES ($1, $2, $3, $4, $5)`;
  const noticeId = `test:${attempt.id}:${kind}`;
  const values = [attempt.connectionId, noticeId, kind, encodeId("att", attempt.id), reference];
  await fixture.core.database.query({ name: "take_notice", text }, values);
}

/** A payment at SANDBOX_B whose hold was given back, by the gateway's own answer. */
async function givenBack(): Promise<Paid> {
  await fixture.setRule([], [fixture.connectionIds[1]!]);
  const core = withAnswers(fixture.core, {
    capture: async () => ({ type: "refused", definitive: true, gatewayCode: "expired" }),
    void: async () => ({ type: "done" }),
  });
  const session = await fixture.newSession();
  fixture.useCard(cards.approved);
  await submitPayment(core, { session, vaultToken: new Secret("tok_1"), signal: AbortSignal.abort() });
  await Promise.all(core.inFlight);
  return { session, attempt: (await fixture.trail(session)).attempts[0]! };
}

async function noticesOf({ attempt }: Paid): Promise<object[]> {
  const text = "SELECT kind FROM gateway_notice WHERE attempt_reference = $1 AND processed_at IS NOT NULL";
  return fixture.core.database.query({ name: "notices", text }, [encodeId("att", attempt.id)]);
}
