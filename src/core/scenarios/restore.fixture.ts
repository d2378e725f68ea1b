/**
 * Steps for tests of a restore: payments that are missing in the database, and turns of recovery after the declaration.
 */
import { expect } from "vitest";
import { encodeId } from "../../platform/ids.ts";
import { Secret } from "../../platform/secrets.ts";
import { attemptIdOf } from "../record/open-attempt.ts";
import type { PaymentSession } from "../rows/entities.ts";
import { type CoreFixture, cards } from "./core.fixture.ts";
import { recover } from "./recovery.fixture.ts";

/** Pays a session at a gateway after the backup, so its database has no row of it. */
export async function payUnseen(
  fixture: CoreFixture,
  session: PaymentSession,
  at: 0 | 1,
  upTo: "held" | "captured",
): Promise<string> {
  const connectionId = fixture.connectionIds[at]!;
  const gateway = at === 0 ? "SANDBOX_A" : "SANDBOX_B";
  const { connector, credentials } = (await fixture.core.bind(connectionId, gateway, 1))!;
  const attemptReference = encodeId("att", attemptIdOf({ sessionId: session.id, connectionId }));
  const call = { credentials, timeoutMs: 5_000 };
  const amount = { amountMinor: session.amountMinor, currency: session.currency };
  const { orderRef } = session;
  fixture.useCard(cards.approved);
  const { outcome } = await connector.authorize(
    { ...call, idempotencyKey: attemptReference },
    { ...amount, attemptReference, orderRef, sessionId: encodeId("ps", session.id), vaultToken: new Secret("tok_1") },
  );
  if (outcome.type !== "held") throw new Error(`expected a hold, got ${outcome.type}`);
  if (upTo === "held") return attemptReference;
  const { gatewayReference } = outcome;
  await connector.capture(
    { ...call, idempotencyKey: `${attemptReference}_cap` },
    { ...amount, attemptReference, gatewayReference },
  );
  if (at === 0) return attemptReference;
  // Only the lost database received the notification of the capture, and it is not sent again; the hold's is still
  // there.
  const deleteReports =
    "DELETE FROM gateway_notification WHERE attempt_reference = $1 AND kind = 'captured' RETURNING 1";
  await expect.poll(async () => (await fixture.asOwner.pool.query(deleteReports, [attemptReference])).rowCount).toBe(1);
  await fixture.sandbox.quiet();
  return attemptReference;
}

/** A session whose first gateway's answer was lost, so its attempt was open when the backup was taken. */
export async function beingPaid(fixture: CoreFixture): Promise<PaymentSession> {
  const session = await fixture.newSession();
  await fixture.sandbox.hold("a.authorize");
  await fixture.submitAndLeave(session);
  await fixture.sandbox.paused({ operation: "a.authorize" });
  return session;
}

/** Runs turns of recovery, beginning two minutes after the restore. */
export async function turns(
  fixture: CoreFixture,
  session: PaymentSession,
  count = 6,
  core = fixture.core,
): Promise<PaymentSession> {
  for (let turn = 0; turn < count; turn++) {
    await fixture.setClockAhead(2 + turn);
    await recover(fixture, core, session);
  }
  return (await fixture.loadSession(session)).session;
}
