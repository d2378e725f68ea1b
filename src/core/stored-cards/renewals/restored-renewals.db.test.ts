/** Renewals after a restore: what the lost database charged is found under the same names, and nothing is charged twice. */
import { beforeEach, describe, expect, it } from "vitest";
import { forFile } from "../../../dev/testing/for-file.ts";
import { declareRestore } from "../../../oversight/declare-restore.ts";
import { encodeId } from "../../../platform/ids.ts";
import { attemptIdOf, deriveId } from "../../record/open-attempt.ts";
import type { PaymentSession } from "../../rows/entities.ts";
import { itemsOf } from "../../scenarios/recovery.fixture.ts";
import * as restore from "../../scenarios/restore.fixture.ts";
import { startRenewals } from "./renewals.fixture.ts";

const fixture = await forFile(startRenewals);
beforeEach(async () => {
  await fixture.base.setClockAhead(0);
  await fixture.base.asOwner.query(
    { name: "forget_restores", text: "UPDATE replica_mark SET restored_at = NULL, restores = 0" },
    [],
  );
});

const declare = () => declareRestore(fixture.base.asOwner, { backupTakenAt: undefined });
const turns = (session: PaymentSession, count = 7) => restore.turns(fixture.base, session, count, fixture.core);
const namedBy = (agreementId: string, nth: number, restores = 0) =>
  deriveId(agreementId, `renewal ${restores} ${nth} invoice-1`);

/** Has the lost database charge the renewal at a gateway. */
async function chargeUnseen(
  agreementId: string,
  nth: number,
  at: 0 | 1,
  upTo: "held" | "captured",
  restores = 0,
): Promise<string> {
  const session = {
    id: namedBy(agreementId, nth, restores),
    amountMinor: 900,
    currency: "EUR",
    orderRef: "invoice-1",
  } as PaymentSession;
  return restore.payUnseen(fixture.base, session, at, upTo);
}

/** Charges the renewal again, and stops waiting at once. */
async function chargeAgain(agreementId: string): Promise<PaymentSession> {
  const { payment } = await fixture.charge(agreementId, { signal: AbortSignal.abort() });
  expect(payment).toMatchObject({ session: { status: "CREATED" }, attempts: [] });
  return payment.session;
}

const statusesAt = async (reference: string) =>
  (await fixture.base.sandbox.authorizations(reference)).map(({ status }) => status);
const attemptsOf = async (session: PaymentSession) => (await fixture.base.loadSession(session)).attempts;

it("asks about 16 names at once, however many a renewal may have had", async () => {
  const agreementId = await fixture.agree();
  await declare();
  const session = await chargeAgain(agreementId);
  const counts = { now: 0, most: 0, all: 0 };
  const connectors = ["SANDBOX_A", "SANDBOX_B"].map((name) => fixture.core.connectorOf(name)!);
  const restoring = connectors.map((connector) => {
    const { lookUp, void: send } = connector;
    const counted =
      <Asked extends unknown[], Answer>(call: (...asked: Asked) => Promise<Answer>) =>
      async (...asked: Asked) => {
        counts.all++;
        counts.most = Math.max(counts.most, ++counts.now);
        return call.apply(connector, asked).finally(() => counts.now--);
      };
    Object.assign(connector, { lookUp: counted(lookUp), void: counted(send) });
    return () => Object.assign(connector, { lookUp, void: send });
  });
  expect((await turns(session)).status).toBe("SUCCEEDED");
  for (const restoreCalls of restoring) restoreCalls();
  expect(counts.all).toBeGreaterThan(32);
  expect(counts.most).toBe(16);
});

describe("a renewal that the lost database has", () => {
  it.each([
    { nth: 1, at: 0, gateway: "SANDBOX_A" },
    { nth: 3, at: 0, gateway: "SANDBOX_A" },
    { nth: 1, at: 1, gateway: "SANDBOX_B" },
    { nth: 8, at: 1, gateway: "SANDBOX_B" },
  ] as const)("captured with try $nth at $gateway is paid by that capture", async ({ nth, at, gateway }) => {
    const agreementId = await fixture.agree();
    const reference = await chargeUnseen(agreementId, nth, at, "captured");
    await declare();
    const session = await chargeAgain(agreementId);
    expect(await turns(session)).toMatchObject({ status: "SUCCEEDED", capturedVia: gateway });
    expect(await attemptsOf(session)).toMatchObject([
      {
        id: attemptIdOf({ sessionId: namedBy(agreementId, nth), connectionId: fixture.base.connectionIds[at]! }),
        status: "CAPTURED",
      },
    ]);
    expect(await statusesAt(reference)).toEqual(["captured"]);
    await expect(fixture.charge(agreementId)).rejects.toMatchObject({
      code: "renewal_paid",
      state: { sessionId: encodeId("ps", session.id) },
    });
  });

  it("only held ends with one capture", async () => {
    const agreementId = await fixture.agree();
    const reference = await chargeUnseen(agreementId, 2, 0, "held");
    await declare();
    const session = await chargeAgain(agreementId);
    expect(await turns(session, 8)).toMatchObject({ status: "SUCCEEDED" });
    const captured = (
      await Promise.all((await attemptsOf(session)).map(({ id }) => statusesAt(encodeId("att", id))))
    ).flat();
    expect(captured.filter((status) => status === "captured")).toHaveLength(1);
    expect(["voided", "captured"]).toContain((await statusesAt(reference))[0]);
  });
});

describe("a renewal that the database between two restores has captured", () => {
  it("is paid by that capture, whose names are those of the first restore", async () => {
    const agreementId = await fixture.agree();
    await declare();
    const reference = await chargeUnseen(agreementId, 2, 0, "captured", 1);
    await declare();
    const session = await chargeAgain(agreementId);
    expect(await turns(session, 8)).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_A" });
    expect((await attemptsOf(session)).map(({ id }) => encodeId("att", id))).toEqual([reference]);
    expect(await statusesAt(reference)).toEqual(["captured"]);
  });
});

describe("a renewal that no gateway knows", () => {
  it("is charged once every gateway has answered, under names that none of them has voided", async () => {
    const agreementId = await fixture.agree();
    await declare();
    const session = await chargeAgain(agreementId);
    expect(await turns(session)).toMatchObject({ status: "SUCCEEDED" });
    const [attempt] = await attemptsOf(session);
    const connectionId = fixture.base.connectionIds[0]!;
    expect(attempt).toMatchObject({
      id: attemptIdOf({ sessionId: namedBy(agreementId, 1, 1), connectionId }),
      status: "CAPTURED",
    });
    expect(await fixture.base.capturedAtGateways(session)).toBe(1);
  });

  it("waits while a gateway is silent, with an alert, and no other key takes it", async () => {
    const agreementId = await fixture.agree();
    await declare();
    await fixture.base.sandbox.setDown("A", true);
    const session = await chargeAgain(agreementId);
    expect(await turns(session, 7)).toMatchObject({ status: "CREATED" });
    expect(await attemptsOf(session)).toEqual([]);
    await expect(fixture.charge(agreementId)).rejects.toMatchObject({ code: "renewal_in_progress" });
    expect(await itemsOf(fixture.base, session)).toMatchObject([{ kind: "RECORD_MISMATCH" }]);
    await fixture.base.sandbox.setDown("A", false);
    expect(await turns(session, 12)).toMatchObject({ status: "SUCCEEDED" });
    expect(await fixture.base.capturedAtGateways(session)).toBe(1);
  });

  it("of an agreement that began after the restore is charged at once", async () => {
    await declare();
    const { payment } = await fixture.charge(await fixture.agree());
    expect(payment.session).toMatchObject({ status: "SUCCEEDED", unrecordedCheckAt: null });
  });
});

describe("a renewal that was under way at the backup", () => {
  it("is looked for under its own names", async () => {
    const agreementId = await fixture.agree();
    const dying = { ...fixture.core, inFlight: new Set<Promise<unknown>>(), bind: () => new Promise<never>(() => {}) };
    const { payment } = await fixture.charge(agreementId, { signal: AbortSignal.abort() }, dying);
    const reference = await chargeUnseen(agreementId, 1, 1, "captured");
    await declare();
    expect(await turns(payment.session)).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_B" });
    expect(await statusesAt(reference)).toEqual(["captured"]);
  });

  it("is paid by the hold of a later try, where its own attempt was declined with a stop", async () => {
    const agreementId = await fixture.agree();
    const dying = { ...fixture.core, inFlight: new Set<Promise<unknown>>(), bind: () => new Promise<never>(() => {}) };
    const { payment } = await fixture.charge(agreementId, { signal: AbortSignal.abort() }, dying);
    await fixture.base.asOwner.pool.query(
      `UPDATE attempt SET status = 'DECLINED', failure_kind = 'SOFT_DECLINE', stop = 'unclassified', decline_code = 'unclassified',
         completed_at = app.clock() WHERE session_id = $1`,
      [payment.session.id],
    );
    const reference = await chargeUnseen(agreementId, 2, 0, "held");
    await declare();
    expect(await turns(payment.session, 9)).toMatchObject({ status: "SUCCEEDED", phase: "DONE" });
    expect(await attemptsOf(payment.session)).toMatchObject([{ status: "DECLINED" }, { status: "CAPTURED" }]);
    expect(await statusesAt(reference)).toEqual(["captured"]);
  });
});
