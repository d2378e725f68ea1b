import { afterEach, describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { auditOnce } from "../../oversight/audit-sessions.ts";
import { raiseAlarmsOnce } from "../../oversight/raise-alarms.ts";
import { loadRecoveryFigures } from "../../oversight/recovery-figures.ts";
import type { PaymentSession } from "../rows/entities.ts";
import { cards, startCoreFixture } from "../scenarios/core.fixture.ts";
import { itemsOf } from "../scenarios/recovery.fixture.ts";
import { closeWorkItem, listCauses, type NewWorkItem, openWorkItem, resolveWorkItem } from "./work-items.ts";

const fixture = await forFile(startCoreFixture);
await fixture.setRule(["TIMEOUT", "GATEWAY_ERROR"]);
afterEach(() => fixture.setClockAhead(0));

/** Closes every row about a session as a person does. */
async function closeAll(session: PaymentSession): Promise<void> {
  for (const { id } of await itemsOf(fixture, session)) {
    await closeWorkItem(fixture.core.database, { id, by: "ada", note: "seen to" });
  }
}

async function openCount(session: PaymentSession): Promise<number> {
  return (await itemsOf(fixture, session)).filter(({ closedAt }) => closedAt === null).length;
}

const minutesADay = 24 * 60;

describe("openWorkItem()", () => {
  const found = ({ id }: { readonly id: string }, detail = "The gateway holds r1.") =>
    ({ kind: "RECORD_MISMATCH", sessionId: id, attemptId: id, detail }) as const satisfies NewWorkItem;
  const open = (item: NewWorkItem) => openWorkItem(fixture.core.database, fixture.core, item);

  it("opens one row for a matter, however often and concurrently it is met", async () => {
    const session = await fixture.newSession();
    const opened = await Promise.all(Array.from({ length: 6 }, () => open(found(session))));
    expect(opened.filter(Boolean)).toHaveLength(1);
    expect(await open(found(session, "The gateway holds r2."))).toBe(false);
    expect(await itemsOf(fixture, session)).toHaveLength(1);
  });

  it("opens another row for a matter that recurs after it was closed and resolved", async () => {
    const session = await fixture.newSession();
    await open(found(session));
    await closeAll(session);
    await resolveWorkItem(fixture.core.database, found(session));
    expect(await open(found(session))).toBe(true);
    expect(await open(found(session))).toBe(false);
    expect(await itemsOf(fixture, session)).toMatchObject([
      { closedBy: "ada", resolvedAt: expect.any(Date) },
      { closedBy: null, resolvedAt: null },
    ]);
  });

  it("reopens the matter of an open row, and not of a closed one", async () => {
    const session = await fixture.newSession();
    await open(found(session));
    await resolveWorkItem(fixture.core.database, found(session));
    expect(await open(found(session))).toBe(true);
    expect(await itemsOf(fixture, session)).toMatchObject([{ resolvedAt: null }]);
  });

  it("opens another row at once for a second matter of the same kind on the same attempt", async () => {
    const session = await fixture.newSession();
    await open(found(session));
    await closeAll(session);
    expect(await open(found(session, "The gateway holds r2."))).toBe(true);
    expect(await openCount(session)).toBe(1);
  });

  it("keeps a lasting matter quiet for a day after a person has closed its row", async () => {
    const session = await fixture.newSession();
    await open(found(session));
    await closeAll(session);
    await fixture.setClockAhead(minutesADay - 5);
    expect(await open(found(session))).toBe(false);
    await fixture.setClockAhead(minutesADay + 5);
    expect(await open(found(session))).toBe(true);
    expect(await open(found(session))).toBe(false);
    await closeAll(session);
    expect(await open(found(session))).toBe(false);
  });
});

describe("listCauses()", () => {
  it("joins rows of one gateway, and of one rule of the database", async () => {
    const { core } = fixture;
    const opened: string[] = [];
    const openAt = async (gateway: number, item: Pick<NewWorkItem, "kind" | "rule">) => {
      await fixture.setRule([], [fixture.connectionIds[gateway]!]);
      const session = await fixture.submit(await fixture.newSession(), cards.approved);
      const [attempt] = (await fixture.loadSession(session)).attempts;
      const detail = `The record (${session.id}) differs.`;
      await openWorkItem(core.database, core, { ...item, sessionId: session.id, attemptId: attempt!.id, detail });
      opened.push(session.id);
    };
    await openAt(0, { kind: "RECORD_MISMATCH" });
    await openAt(1, { kind: "RECORD_MISMATCH" });
    await openAt(0, { kind: "RECORD_MISMATCH" });
    await openAt(0, { kind: "INVARIANT_VIOLATED", rule: "open_after_end" });
    await openAt(0, { kind: "INVARIANT_VIOLATED", rule: "amount_differs" });
    await fixture.setRule(["TIMEOUT", "GATEWAY_ERROR"]);
    const causes = await listCauses(core.database, { includeClosed: false, after: undefined, count: 1_000 });
    const counts = opened.map((id) => causes.find(({ sessionId }) => sessionId === id)?.count);
    expect(counts).toEqual([undefined, 1, 2, 1, 1]);
  });
});

describe("a row that a person closes while its matter lasts", () => {
  it("is followed by one more a day later when a void stays unanswered, despite its repeats", async () => {
    const session = await fixture.pay(cards.allDown);
    await fixture.setClockAhead(62);
    await raiseAlarmsOnce(fixture.core);
    const voids = await openCount(session);
    expect(voids).toBeGreaterThan(0);
    await closeAll(session);
    const tried = { name: "try_again", text: "UPDATE attempt SET retries = retries + 1 WHERE session_id = $1" };
    await fixture.asOwner.query(tried, [session.id]);
    await raiseAlarmsOnce(fixture.core);
    expect(await openCount(session)).toBe(0);
    await fixture.setClockAhead(62 + minutesADay + 5);
    for (let turn = 0; turn < 2; turn++) await raiseAlarmsOnce(fixture.core);
    expect(await openCount(session)).toBe(voids);
    expect(await itemsOf(fixture, session)).toHaveLength(2 * voids);
  });

  it("is followed by one more a day later when a rule stays violated; the rule is counted once", async () => {
    const session = await fixture.newSession();
    await fixture.asOwner.pool.query(
      `INSERT INTO outbox_event (session_id, id, sequence, type, merchant_id, body, created_at)
       SELECT id, gen_random_uuid(), 1, 'payment_session.expired', merchant_id, '', now()
       FROM payment_session WHERE id = $1`,
      [session.id],
    );
    const audit = async () => {
      await fixture.asOwner.pool.query("UPDATE audit_walk SET audited_at = NULL");
      await auditOnce(fixture.core);
    };
    await audit();
    expect(await openCount(session)).toBe(1);
    await closeAll(session);
    await audit();
    expect(await openCount(session)).toBe(0);
    await fixture.setClockAhead(minutesADay + 5);
    for (let turn = 0; turn < 2; turn++) await audit();
    expect(await openCount(session)).toBe(1);
    expect(await itemsOf(fixture, session)).toHaveLength(2);
    expect((await loadRecoveryFigures(fixture.core.database)).violations.final_event).toBe(1);
  });
});
