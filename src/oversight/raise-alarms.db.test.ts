import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { closeWorkItem, listWorkItems } from "../core/record/work-items.ts";
import { AuthenticationFixture, challengeAt, startProvided } from "../core/scenarios/authentication.fixture.ts";
import { cards, startCoreFixture } from "../core/scenarios/core.fixture.ts";
import { itemsOf, recover, withAnswers, withoutConnectors } from "../core/scenarios/recovery.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { raiseAlarmsOnce } from "./raise-alarms.ts";

const fixture = await forFile(startCoreFixture);
beforeAll(() => fixture.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"]));
afterEach(() => fixture.setClockAhead(0));

async function alarmsAfter(minutes: number): Promise<void> {
  await fixture.setClockAhead(minutes);
  await raiseAlarmsOnce(fixture.core);
}

describe("raiseAlarmsOnce()", () => {
  it("opens a row for a capture that is unanswered for a minute, and only resolves it on the answer", async () => {
    const session = await fixture.newSession();
    const { paying } = await fixture.pauseAt("a.capture", session);
    await raiseAlarmsOnce(fixture.core);
    expect(await itemsOf(fixture, session)).toEqual([]);
    await alarmsAfter(2);
    await raiseAlarmsOnce(fixture.core);
    const [attempt] = (await fixture.loadSession(session)).attempts;
    expect(await itemsOf(fixture, session)).toMatchObject([
      { kind: "CAPTURE_UNANSWERED", attemptId: attempt?.id, merchantId: session.merchantId, resolvedAt: null },
    ]);
    await fixture.sandbox.release({ operation: "a.capture" });
    await paying;
    await raiseAlarmsOnce(fixture.core);
    const [item, ...others] = await itemsOf(fixture, session);
    expect(others).toEqual([]);
    expect(item).toMatchObject({ resolvedAt: expect.any(Date), closedAt: null });
  });

  it("opens a row for each void that fails for an hour, not earlier, and the voids continue", async () => {
    const session = await fixture.pay(cards.allDown);
    await alarmsAfter(58);
    expect(await itemsOf(fixture, session)).toEqual([]);
    await alarmsAfter(62);
    const voiding = (await fixture.loadSession(session)).attempts.filter(({ status }) => status === "VOIDING");
    expect(voiding.length).toBeGreaterThan(0);
    const items = await itemsOf(fixture, session);
    expect(items.map(({ kind, attemptId }) => [kind, attemptId])).toEqual(
      voiding.map(({ id }) => ["VOID_UNANSWERED", id]),
    );
    await recover(fixture, withAnswers(fixture.core, { void: async () => ({ type: "done" }) }), session);
    expect((await fixture.loadSession(session)).session.phase).toBe("DONE");
    await raiseAlarmsOnce(fixture.core);
    expect(await itemsOf(fixture, session)).toMatchObject(
      voiding.map(() => ({ resolvedAt: expect.any(Date), closedAt: null })),
    );
  });

  it("opens a row for a customer who is asked a minute past the deadline, and resolves it with the give-up", async () => {
    const asked = new AuthenticationFixture(fixture);
    const session = await asked.pay({ A: challengeAt.A() });
    await alarmsAfter(10.9);
    expect(await itemsOf(fixture, session)).toEqual([]);
    await alarmsAfter(11.1);
    const [attempt] = (await fixture.loadSession(session)).attempts;
    expect(await itemsOf(fixture, session)).toMatchObject([
      { kind: "ACTION_OVERDUE", attemptId: attempt?.id, resolvedAt: null },
    ]);
    await asked.recover();
    expect((await asked.story(session)).authentications).toEqual(["ABANDONED"]);
    await raiseAlarmsOnce(fixture.core);
    expect(await itemsOf(fixture, session)).toMatchObject([{ resolvedAt: expect.any(Date), closedAt: null }]);
  });

  it("opens one without an attempt for a provider's device check, and resolves it likewise", async () => {
    const flow = await startProvided();
    const { core } = flow.base;
    const session = await flow.payWith("4000000000003220");
    expect((await flow.story(session)).authentications).toEqual(["METHOD"]);
    await flow.base.setClockAhead(11.1);
    await raiseAlarmsOnce(core);
    const detail = expect.stringMatching(/^The customer could act for SANDBOX_3DS until /);
    expect(await itemsOf(flow.base, session)).toMatchObject([
      { kind: "ACTION_OVERDUE", attemptId: null, resolvedAt: null, detail },
    ]);
    await flow.recover();
    await raiseAlarmsOnce(core);
    expect(await itemsOf(flow.base, session)).toMatchObject([{ resolvedAt: expect.any(Date), closedAt: null }]);
    await flow.close();
  });

  it("counts the hour of a void from the time after which the gateway holds nothing more", async () => {
    const asked = new AuthenticationFixture(fixture);
    const session = await asked.pay({ A: { act: "decline", code: "transaction_not_allowed" }, B: challengeAt.B() });
    await fixture.setClockAhead(10.5);
    await asked.recover();
    expect((await asked.story(session)).attempts.at(-1)).toBe("SANDBOX_B VOIDING");
    await alarmsAfter(75);
    expect(await itemsOf(fixture, session)).toEqual([]);
    await alarmsAfter(135);
    expect(await itemsOf(fixture, session)).toMatchObject([{ kind: "VOID_UNANSWERED" }]);
  });

  it("covers an attempt whose connector is gone, which no worker can look up", async () => {
    const session = await fixture.pay(cards.allDown);
    const core = withoutConnectors(fixture.core);
    await fixture.setClockAhead(62);
    await recover(fixture, core, session);
    await raiseAlarmsOnce(core);
    expect((await itemsOf(fixture, session)).map(({ kind }) => kind)).toContain("VOID_UNANSWERED");
  });
});

describe("closeWorkItem()", () => {
  it("closes a row once, in a person's name, and removes it from the open rows", async () => {
    const session = await fixture.pay(cards.allDown);
    await alarmsAfter(62);
    const [item] = await itemsOf(fixture, session);
    const close = (by: string) => closeWorkItem(fixture.core.database, { id: item!.id, by, note: "called the bank" });
    expect(await close("ada")).toMatchObject({ closedBy: "ada", closeNote: "called the bank" });
    expect(await close("bob")).toBeUndefined();
    const open = await listWorkItems(fixture.core.database, { includeClosed: false, after: undefined, count: 100 });
    expect(open.map(({ id }) => id)).not.toContain(item!.id);
    expect((await itemsOf(fixture, session))[0]).toMatchObject({ closedBy: "ada" });
    const reopen = "UPDATE work_item SET closed_at = NULL, closed_by = NULL, close_note = NULL WHERE id = $1";
    await expect(fixture.core.database.query({ name: "reopen", text: reopen }, [item!.id])).rejects.toThrow(
      "closed once",
    );
    await raiseAlarmsOnce(fixture.core);
    expect((await itemsOf(fixture, session))[0]).toMatchObject({ closedBy: "ada" });
  });

  it("pages through the list, newest first", async () => {
    const page = (after: string | undefined) =>
      listWorkItems(fixture.core.database, { includeClosed: true, after, count: 2 });
    const first = await page(undefined);
    const second = await page(first.at(-1)!.id);
    const ids = [...first, ...second].map(({ id }) => id);
    expect(ids).toHaveLength(4);
    expect(ids).toEqual(ids.toSorted().toReversed());
  });
});
