/**
 * Tests that "there is nothing", and "I refused the void", count after a restore only as the answer to a void that this
 * database has sent: the lost one may have sent a void before the gateway held.
 */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { declareRestore } from "../../oversight/declare-restore.ts";
import { encodeId } from "../../platform/ids.ts";
import { Secret } from "../../platform/secrets.ts";
import { attemptIdOf } from "../record/open-attempt.ts";
import type { PaymentSession } from "../rows/entities.ts";
import { submitPayment } from "../submit-payment.ts";
import { cards, startCoreFixture } from "./core.fixture.ts";
import { recover, withAnswers } from "./recovery.fixture.ts";
import { payUnseen, turns } from "./restore.fixture.ts";

const fixture = await forFile(startCoreFixture);
beforeAll(() => fixture.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"], fixture.connectionIds.toReversed()));
beforeEach(() => fixture.setClockAhead(0));

const declare = () => declareRestore(fixture.asOwner, { backupTakenAt: undefined });

const referenceAtB = (session: PaymentSession) =>
  encodeId("att", attemptIdOf({ sessionId: session.id, connectionId: fixture.connectionIds[1]! }));

const statusesAt = async (reference: string) =>
  (await fixture.sandbox.authorizations(reference)).map(({ status }) => status);

/** Deletes what the lost database alone had received. */
async function lose(reference: string, kind: string): Promise<void> {
  const text = "DELETE FROM gateway_notification WHERE attempt_reference = $1 AND kind = $2 RETURNING 1";
  await expect.poll(async () => (await fixture.asOwner.pool.query(text, [reference, kind])).rowCount).toBe(1);
}

/** Receives now what SANDBOX_B reports about an earlier void. */
async function receive(reference: string, kind: "absent" | "void_refused"): Promise<void> {
  await fixture.asOwner.pool.query(
    `INSERT INTO gateway_notification (connection_id, notification_id, kind, attempt_reference, gateway_reference, processed_at)
     VALUES ($1, $2, $3, $4, '', app.clock())`,
    [fixture.connectionIds[1], `${kind} of ${reference}`, kind, reference],
  );
}

describe("after a restore, a report of the lost database's void", () => {
  it("that found nothing lets no hold of a lost attempt stay", async () => {
    const session = await fixture.newSession();
    const reference = await payUnseen(fixture, session, 1, "held");
    await lose(reference, "held");
    await declare();
    await receive(reference, "absent");
    expect(await turns(fixture, session)).toMatchObject({ status: "DEGRADED", phase: "DONE" });
    expect(await statusesAt(reference)).toEqual(["voided"]);
  });

  it("that found nothing hides no capture of an attempt that was unanswered at the backup", async () => {
    const session = await unanswered();
    const reference = await captureUnseen(session);
    await declare();
    await fixture.setClockAhead(2);
    await receive(reference, "absent");
    expect(await turns(fixture, session, 8)).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_B" });
    expect(await statusesAt(reference)).toEqual(["captured"]);
  });

  it("that was refused confirms no decline, however old it is", async () => {
    const session = await unanswered();
    const reference = await captureUnseen(session);
    await declare();
    await fixture.asOwner.pool.query(
      `INSERT INTO gateway_notification (connection_id, notification_id, kind, attempt_reference, gateway_reference, declined, processed_at)
       VALUES ($1, $2, 'declined', $3, '', $4, app.clock())`,
      [fixture.connectionIds[1], `declined ${reference}`, reference, JSON.stringify(declined)],
    );
    await fixture.setClockAhead(2);
    await receive(reference, "void_refused");
    await fixture.setClockAhead(9);
    // The report about this database's own void is late; those of the other rounds have come.
    const late = withAnswers(fixture.core, {
      void: async (_, { attemptReference }) => ({ type: attemptReference === reference ? "accepted" : "done" }),
    });
    await recover(fixture, late, session);
    expect((await fixture.loadSession(session)).session.status).toBe("CREATED");
    for (const minutes of [10, 11]) {
      await fixture.setClockAhead(minutes);
      await recover(fixture, fixture.core, session);
    }
    const ended = await fixture.loadSession(session);
    expect(ended.session).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_B", unrecordedVoids: null });
    expect(await statusesAt(reference)).toEqual(["captured"]);
  });
});

const declined = {
  type: "declined",
  kind: "HARD_DECLINE",
  stop: "none",
  declineCode: "card_declined",
  gatewayCode: "05",
};

/** A session whose attempt at SANDBOX_B had no answer at the backup; the answer is lost. */
async function unanswered(): Promise<PaymentSession> {
  const session = await fixture.newSession();
  await fixture.sandbox.hold("b.authorize");
  fixture.useCard(cards.approved);
  const core = withAnswers(fixture.core, {});
  await submitPayment(core, { session, vaultToken: new Secret("tok_1"), signal: AbortSignal.abort() });
  await fixture.sandbox.paused({ operation: "b.authorize" });
  // Its worker is gone: another one has taken the session over.
  const takeOver = "UPDATE payment_session SET lease_epoch = lease_epoch + 1 WHERE id = $1";
  await fixture.asOwner.pool.query(takeOver, [session.id]);
  await fixture.sandbox.release();
  await Promise.all(core.inFlight);
  return session;
}

/** Captures the attempt, of which the restored database knows nothing more. */
async function captureUnseen(session: PaymentSession): Promise<string> {
  const reference = referenceAtB(session);
  await lose(reference, "held");
  const [hold] = await fixture.sandbox.authorizations(reference);
  const { connector, credentials } = (await fixture.core.bind(fixture.connectionIds[1]!, "SANDBOX_B", 1))!;
  const { amountMinor, currency } = session;
  await connector.capture(
    { credentials, timeoutMs: 5_000, idempotencyKey: `${reference}_cap` },
    { amountMinor, currency, attemptReference: reference, gatewayReference: hold!.id },
  );
  await lose(reference, "captured");
  await fixture.sandbox.quiet();
  return reference;
}
