/** After a restore: a payment that went on to a fraud decline or a failed authentication, which only its gateway remembers. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import type { Declined } from "../../gateways/declines.ts";
import { declareRestore } from "../../oversight/declare-restore.ts";
import { encodeId } from "../../platform/ids.ts";
import { attemptIdOf } from "../record/open-attempt.ts";
import type { PaymentSession } from "../rows/entities.ts";
import { startCoreFixture } from "./core.fixture.ts";
import { withAnswers } from "./recovery.fixture.ts";
import { payUnseen, turns } from "./restore.fixture.ts";

const fixture = await forFile(startCoreFixture);
beforeAll(() => fixture.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"]));
beforeEach(() => fixture.setClockAhead(0));

const fraud: Declined = {
  type: "declined",
  kind: "FRAUD",
  stop: "fraud",
  declineCode: "fraud_suspected",
  gatewayCode: "59",
};
const notAuthenticated: Declined = {
  ...fraud,
  kind: "SOFT_DECLINE",
  stop: "authentication_failed",
  declineCode: "authentication_failed",
};
const refusals: readonly (readonly [string, Declined])[] = [
  ["a fraud decline", fraud],
  ["a decline that stops for fraud", { ...fraud, kind: "HARD_DECLINE" }],
  ["a failed authentication", notAuthenticated],
];

const referenceAt = ({ id: sessionId }: PaymentSession, at: 0 | 1) =>
  encodeId("att", attemptIdOf({ sessionId, connectionId: fixture.connectionIds[at]! }));
const authorizationsAtA = (session: PaymentSession) => fixture.sandbox.authorizations(referenceAt(session, 0));

/** Runs recovery after a restore, with gateways that can be read: A answers as it is, and B remembers a refusal. */
async function restoreWith(session: PaymentSession, refusal: Declined): Promise<PaymentSession> {
  await declareRestore(fixture.asOwner, { backupTakenAt: undefined });
  const core = withAnswers(fixture.core, {
    canRead: true,
    lookUp: async (_call, { attemptReference }) => {
      if (attemptReference === referenceAt(session, 1)) return refusal;
      const [found] = await fixture.sandbox.authorizations(attemptReference);
      if (found?.status !== "held" && found?.status !== "captured") return { type: "absent" };
      return { type: found.status, gatewayReference: found.id };
    },
  });
  return turns(fixture, session, 8, core);
}

describe.each(refusals)("an earlier hold, after %s that a restore has lost", (_what, refusal) => {
  const end = { status: "DECLINED", phase: "DONE", declineCode: refusal.declineCode };
  const ended = async (session: PaymentSession) => {
    expect((await authorizationsAtA(session)).map(({ status }) => status)).toEqual(["voided"]);
    expect((await fixture.loadSession(session)).attempts).toMatchObject([
      { gateway: "SANDBOX_A", status: "VOIDED" },
      { gateway: "SANDBOX_B", status: "DECLINED", failureKind: refusal.kind, stop: refusal.stop },
    ]);
  };

  it("is voided where its row is lost too", async () => {
    const session = await fixture.newSession();
    await payUnseen(fixture, session, 0, "held");
    expect(await restoreWith(session, refusal)).toMatchObject(end);
    await ended(session);
  });

  it("is voided where its answer was not known at the backup", async () => {
    const session = await fixture.newSession();
    await fixture.sandbox.hold("a.authorize");
    await fixture.submitAndLeave(session);
    await fixture.sandbox.paused({ operation: "a.authorize" });
    await fixture.asOwner.pool.query("UPDATE payment_session SET lease_epoch = lease_epoch + 1 WHERE id = $1", [
      session.id,
    ]);
    await fixture.sandbox.release();
    await Promise.all(fixture.core.inFlight);
    expect(await restoreWith(session, refusal)).toMatchObject(end);
    await ended(session);
  });

  it("is kept where it was captured: the money is taken", async () => {
    const session = await fixture.newSession();
    await payUnseen(fixture, session, 0, "captured");
    expect(await restoreWith(session, refusal)).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_A" });
    expect(await fixture.capturedAtGateways(session)).toBe(1);
  });
});
