/** After a restore: an attempt whose row is lost, and which a gateway that cannot be read has reported as declined. */
import { beforeEach, describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { declareRestore } from "../../oversight/declare-restore.ts";
import { encodeId } from "../../platform/ids.ts";
import { attemptIdOf } from "../record/open-attempt.ts";
import { startCoreFixture } from "./core.fixture.ts";
import { itemsOf, withAnswers } from "./recovery.fixture.ts";
import { payUnseen, turns } from "./restore.fixture.ts";

const fixture = await forFile(startCoreFixture);
beforeEach(() => fixture.setClockAhead(0));

const declare = () => declareRestore(fixture.asOwner, { backupTakenAt: undefined });
const none = { type: "declined", kind: "HARD_DECLINE", stop: "none", declineCode: "card_declined" };

describe("a hold of an unrecorded attempt that is reported as declined, while the report of the hold is lost", () => {
  it("is voided before the session ends", async () => {
    const session = await fixture.newSession();
    const reference = await payUnseen(fixture, session, 1, "held");
    const decline = `UPDATE gateway_notification SET kind = 'declined', declined = $2 WHERE attempt_reference = $1 AND kind = 'held'`;
    const deleteDecline = async () => (await fixture.asOwner.pool.query(decline, [reference, none])).rowCount;
    await expect.poll(deleteDecline).toBe(1);
    await declare();
    expect(await turns(fixture, session)).toMatchObject({ status: "DEGRADED", phase: "DONE" });
    expect((await fixture.sandbox.authorizations(reference)).map(({ status }) => status)).toEqual(["voided"]);
  });

  /** In doubt, with a stored decline of the unrecorded attempt; its gateway accepts voids and reports nothing. */
  async function declined() {
    const session = await fixture.newSession();
    const [, connectionId] = fixture.connectionIds;
    const reference = encodeId("att", attemptIdOf({ sessionId: session.id, connectionId: connectionId! }));
    const report = (kind: string) => {
      const text = `INSERT INTO gateway_notification (connection_id, notification_id, kind, attempt_reference, gateway_reference, declined)
        VALUES ($1, $2 || $4, $4, $2, 'r', $3)`;
      return fixture.asOwner.pool.query(text, [connectionId, reference, kind === "declined" ? none : null, kind]);
    };
    await report("declined");
    await declare();
    // Of the repeat with authentication, which was never made, it knows nothing.
    const core = withAnswers(fixture.core, {
      void: async (_call, { attemptReference }) => ({ type: attemptReference === reference ? "accepted" : "absent" }),
    });
    return { session, report, core };
  }

  it("is believed not to be there five minutes after the gateway reported that it refused a void, not before", async () => {
    const { session, report, core } = await declined();
    expect(await turns(fixture, session, 6, core)).toMatchObject({ status: "CREATED" });
    await report("void_refused");
    // The clock stands at seven minutes.
    expect(await turns(fixture, session, 9, core)).toMatchObject({ status: "CREATED" });
    expect(await turns(fixture, session, 12, core)).toMatchObject({ status: "DEGRADED", phase: "DONE" });
  });

  it("is left to a person where the gateway reports nothing of its voids", async () => {
    const { session, core } = await declined();
    expect(await turns(fixture, session, 9, core)).toMatchObject({ status: "CREATED" });
    expect(await itemsOf(fixture, session)).toMatchObject([{ kind: "RECORD_MISMATCH" }]);
  });
});
