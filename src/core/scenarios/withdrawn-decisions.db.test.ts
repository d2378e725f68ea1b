/**
 * Tests attempts that a person records as captured and the gateway denies: the decision is withdrawn, and nothing
 * succeeds without money.
 */
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { createStrictLog } from "../../dev/testing/strict-log.ts";
import type { LookUpAnswer } from "../../gateways/connector.ts";
import { encodeId } from "../../platform/ids.ts";
import { closeWorkItem } from "../record/work-items.ts";
import type { PaymentSession } from "../rows/entities.ts";
import { startCoreFixture } from "./core.fixture.ts";
import { captured, decisionSteps, givenUp } from "./decision.fixture.ts";
import { itemsOf, recover, withAnswers } from "./recovery.fixture.ts";

const fixture = await forFile(startCoreFixture);
beforeAll(() => fixture.setRule([], [fixture.connectionIds[0]!]));
afterEach(() => fixture.setClockAhead(0));

const { firstOf, stateOf, unanswered, decide, turn, report } = decisionSteps(() => fixture);

describe("a capture that its gateway refuses and a person nevertheless records", () => {
  const mismatch = expect.objectContaining({
    kind: "RECORD_MISMATCH",
    detail: expect.stringMatching(/as captured\.$/),
  });
  const isWithdrawn = async (session: PaymentSession) => {
    expect(await firstOf(session)).toMatchObject({ decision: null, decisionConfirmedAt: null });
    expect(await itemsOf(fixture, session)).toContainEqual(mismatch);
  };

  it("ends without money when the refusal comes while the person decides", async () => {
    const { session } = await unanswered();
    const core = withAnswers(fixture.core, {
      async capture() {
        await decide(session, captured);
        return { type: "refused", definitive: true, gatewayCode: "expired" };
      },
      lookUp: async () => ({ type: "inconclusive", reason: "no answer" }),
    });
    await recover(fixture, core, session);
    await isWithdrawn(session);
    expect(await firstOf(session)).toMatchObject({ status: "VOIDED", captureRefusalCode: "expired" });
    expect(await stateOf(session)).toMatchObject({ status: "DEGRADED", phase: "DONE" });
  });

  it.each<LookUpAnswer>([
    { type: "held", gatewayReference: "r1" },
    { type: "heldOther", gatewayReference: "r1" },
    { type: "voided" },
    { type: "absent" },
    { type: "declined", kind: "HARD_DECLINE", stop: "none", declineCode: "card_declined", gatewayCode: "05" },
  ])("goes on without the decision when a look-up returns $type", async (answer) => {
    const { session, core } = await unanswered({ lookUp: async () => answer });
    await decide(session, captured);
    await turn(core);
    await isWithdrawn(session);
    expect(await firstOf(session)).toMatchObject({ status: "AUTHORIZED" });
    expect(await stateOf(session)).toMatchObject({ status: "CREATED" });
  });

  it.each(["voided", "capture_failed"])("goes on without the decision when %s was reported", async (kind) => {
    const { session, core } = await unanswered();
    await report(await firstOf(session), kind);
    await decide(session, captured);
    await turn(core);
    await isWithdrawn(session);
    expect(await stateOf(session)).toMatchObject({ status: "CREATED" });
  });

  it("goes on without the decision where a capture of another amount was reported", async () => {
    const { session, core } = await unanswered();
    await report(await firstOf(session), "captured", { amountMinor: 1_000 });
    for (const { id } of await itemsOf(fixture, session)) {
      await closeWorkItem(fixture.core.database, { id, by: "ada", note: "seen" });
    }
    await decide(session, captured);
    await turn(core);
    await isWithdrawn(session);
    expect(await stateOf(session)).toMatchObject({ status: "CREATED" });
  });

  it("is recorded where notifications alone say declined: a capture beside it may not be reported", async () => {
    const { session, core } = await unanswered({ canRead: false });
    const { connectionId, id } = await firstOf(session);
    const declined = { type: "declined", kind: "HARD_DECLINE", stop: "none", declineCode: "card_declined" };
    const text = `INSERT INTO gateway_notification (connection_id, notification_id, kind, attempt_reference, gateway_reference, declined)
      VALUES ($1, $2, 'declined', $2, 'r', $3)`;
    await fixture.asOwner.pool.query(text, [connectionId, encodeId("att", id), declined]);
    await decide(session, captured);
    await turn(core);
    expect(await firstOf(session)).toMatchObject({ status: "CAPTURED", decision: "CAPTURED" });
    expect(await stateOf(session)).toMatchObject({ status: "SUCCEEDED" });
  });

  it("writes each withdrawal to the log, also while the row of an earlier one is open", async () => {
    const { session, core } = await unanswered({ lookUp: async () => ({ type: "voided" }) });
    const lines: string[] = [];
    const logged = { ...core, log: createStrictLog((line) => lines.push(line)) };
    for (const by of ["ada", "grace"]) {
      await decide(session, { ...captured, by });
      await turn(logged);
    }
    expect((await itemsOf(fixture, session)).filter(({ kind }) => kind === "RECORD_MISMATCH")).toHaveLength(1);
    const withdrawn = lines.filter((line) => line.includes("a person's decision is withdrawn"));
    expect(withdrawn).toEqual(Array(2).fill(expect.stringContaining("SANDBOX_A reports voided")));
    // A random id may have the letters of a name.
    expect(withdrawn.join()).not.toMatch(new RegExp(String.raw`\b(ada|grace)\b|${captured.reason}`));
  });

  it("cannot be recorded once the refusal is known", async () => {
    const { session } = await unanswered();
    const core = withAnswers(fixture.core, {
      capture: async () => ({ type: "refused", definitive: true, gatewayCode: "expired" }),
      void: async () => ({ type: "refused", definitive: false, gatewayCode: "busy" }),
    });
    await recover(fixture, core, session);
    expect(await firstOf(session)).toMatchObject({ status: "VOIDING" });
    await expect(decide(session, captured)).rejects.toMatchObject({ code: "state_conflict" });
    await decide(session, givenUp);
  });
});

describe("the database's own audit", () => {
  it("finds no violation after these tests", async () => {
    expect((await fixture.asOwner.pool.query("SELECT * FROM app.audit()")).rows).toEqual([]);
  });
});
