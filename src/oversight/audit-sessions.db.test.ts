import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { listWorkItems } from "../core/record/work-items.ts";
import type { PaymentSession } from "../core/rows/entities.ts";
import { cards, startCoreFixture } from "../core/scenarios/core.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { switchGuards } from "../migrations/switch-guards.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { auditOnce, auditRules } from "./audit-sessions.ts";

const fixture = await forFile(startCoreFixture);
await fixture.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"]);
// A notification that arrives while a row is broken would be refused.
await fixture.sandbox.setAccount(`test_${fixture.owner.merchantId}`, { notificationUrl: "" });
afterEach(async () => {
  await asOwner("TRUNCATE work_item");
});

async function asOwner(sql: string): Promise<void> {
  await fixture.asOwner.pool.query(`${switchGuards("DISABLE")}; ${sql}; ${switchGuards("ENABLE")}`);
}

/** Drops every CHECK, every foreign key and the obstructing index, as a bad migration might. */
async function withoutConstraints(): Promise<void> {
  await fixture.asOwner.pool.query(`
    DO $$ DECLARE found record; BEGIN
      FOR found IN SELECT conrelid::regclass AS of_table, conname FROM pg_constraint
                   JOIN pg_class of_table ON of_table.oid = conrelid
                   WHERE contype IN ('c','f') AND conislocal AND conparentid = 0
                   AND of_table.relname ~ '^(attempt|payment_session|outbox_event)(_rest|_[0-9_]+)?$' LOOP
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', found.of_table, found.conname);
      END LOOP;
    END $$;
    DROP INDEX attempt_one_capturable`);
}

async function rulesOf(session: PaymentSession): Promise<string[]> {
  const statement = { name: "audit_one", text: "SELECT rule FROM app.audit(ARRAY[$1::uuid]) ORDER BY rule" };
  return (await fixture.core.database.query<{ rule: string }>(statement, [session.id])).map(({ rule }) => rule);
}

/** Makes the audit due, as if its last turn had been long ago. */
const letAuditRun = () => asOwner("UPDATE audit_walk SET audited_at = NULL");

const failedOver = () => fixture.pay(cards.failover);

const authenticationOfFirst = (status: string, completedAt: string) => `
  INSERT INTO authentication (session_id, id, sequence, attempt_id, connection_id, because, status, holds_only_when_asked, action_life_ms, deadline_at, completed_at)
  SELECT session_id, gen_random_uuid(), 1, id, connection_id, 'why', '${status}', true, 0, now(), ${completedAt} FROM attempt WHERE id = $1`;

// `$s` is the session; `$1` and `$2` its first and second attempt.
const breaks: [rule: (typeof auditRules)[number], sql: string, also?: string[]][] = [
  [
    "succeeded_without_capture",
    "UPDATE attempt SET status = 'AUTHORIZED' WHERE id = $2",
    ["done_with_open_attempt", "open_after_end"],
  ],
  ["captured_outside_succeeded", "UPDATE payment_session SET status = 'DEGRADED' WHERE id = $s", ["final_event"]],
  ["two_capturable", "UPDATE attempt SET status = 'CAPTURED' WHERE id = $1", ["captured_outside_succeeded"]],
  ["winner_without_hold", "UPDATE attempt SET status = 'VOIDED' WHERE id = $2", ["succeeded_without_capture"]],
  ["open_after_end", "UPDATE attempt SET status = 'UNKNOWN' WHERE id = $1", ["done_with_open_attempt"]],
  ["done_with_open_attempt", "UPDATE attempt SET status = 'VOIDING' WHERE id = $1"],
  ["amount_differs", "UPDATE attempt SET amount_minor = 1 WHERE id = $1"],
  ["amount_differs", "UPDATE attempt SET currency = 'CHF' WHERE id = $2"],
  ["attempt_after_stop", "UPDATE attempt SET stop = 'scheme_rule' WHERE id = $1"],
  [
    "hold_after_fraud",
    "UPDATE attempt SET failure_kind = 'FRAUD', completed_at = now() + interval '1 h' WHERE id = $1",
  ],
  [
    "never_existed_too_early",
    "UPDATE attempt SET status = 'VOIDED', void_kind = 'NEVER_EXISTED', void_asked_at = latest_execution_at - interval '1 s' WHERE id = $1",
  ],
  ["attempt_sequence_gap", "UPDATE attempt SET sequence = 3 WHERE id = $2"],
  ["final_event", "DELETE FROM outbox_event WHERE session_id = $s"],
  ["final_event", "UPDATE outbox_event SET type = 'payment_session.declined' WHERE session_id = $s"],
  [
    "final_event",
    `INSERT INTO outbox_event (session_id, id, sequence, type, merchant_id, body, created_at)
     SELECT session_id, gen_random_uuid(), 2, type, merchant_id, body, created_at FROM outbox_event WHERE session_id = $s`,
  ],
  ["event_sequence_gap", "UPDATE outbox_event SET sequence = 2 WHERE session_id = $s"],
  ["card_kept_after_end", "UPDATE payment_session SET vault_token = 't' WHERE id = $s"],
  ["card_kept_after_end", "UPDATE payment_session SET browser_sealed = 'b' WHERE id = $s"],
  ["authentication_open_after_end", authenticationOfFirst("CONFIRMING", "NULL")],
  ["success_after_failed_authentication", authenticationOfFirst("CANCELLED", "now()")],
];

async function breakIt(session: PaymentSession, sql: string): Promise<void> {
  const { attempts } = await fixture.loadSession(session);
  const ids = [`'${attempts[0]?.id}'`, `'${attempts[1]?.id}'`];
  const named = sql.replaceAll("$s", `'${session.id}'`).replaceAll("$1", ids[0]!).replaceAll("$2", ids[1]!);
  await asOwner(named);
}

describe("auditOnce()", () => {
  it("finds no violation in correct payments of every outcome", async () => {
    for (const card of Object.values(cards)) await fixture.pay(card);
    await fixture.newSession();
    await letAuditRun();
    expect(await auditOnce(fixture.core)).toEqual([]);
    const everything = await fixture.core.database.query({ name: "all", text: "SELECT * FROM app.audit()" }, []);
    expect(everything).toEqual([]);
  });

  it("runs once a minute, however many workers there are", async () => {
    await letAuditRun();
    await auditOnce(fixture.core);
    const audits = "SELECT audited_at::text AS at FROM audit_walk";
    const before = await fixture.core.database.query({ name: "walk", text: audits }, []);
    await auditOnce(fixture.core);
    expect(await fixture.core.database.query({ name: "walk", text: audits }, [])).toEqual(before);
  });

  it("raises one alarm for a violated rule, and resolves but does not close it when the rule holds again", async () => {
    const session = await failedOver();
    await breakIt(session, "UPDATE attempt SET stop = 'scheme_rule' WHERE id = $1");
    const items = () => listWorkItems(fixture.core.database, { includeClosed: false, after: undefined, count: 10 });
    // The walk is past the session, so only its change can reveal it.
    await asOwner(`UPDATE audit_walk SET session_id = '${session.id}'`);
    for (let turn = 0; turn < 2; turn++) {
      await letAuditRun();
      expect(await auditOnce(fixture.core)).toMatchObject([{ sessionId: session.id }]);
    }
    expect(await items()).toMatchObject([
      { kind: "INVARIANT_VIOLATED", rule: "attempt_after_stop", sessionId: session.id, resolvedAt: null },
    ]);
    await breakIt(session, "UPDATE attempt SET stop = NULL WHERE id = $1");
    await letAuditRun();
    await auditOnce(fixture.core);
    expect(await items()).toMatchObject([{ resolvedAt: expect.any(Date), closedAt: null }]);
  });

  it("eventually reports every violation, however many earlier ones last", async () => {
    const sessions = await Promise.all(Array.from({ length: 103 }, () => fixture.newSession()));
    const ids = sessions.map(({ id }) => `'${id}'`).join();
    await asOwner(`INSERT INTO outbox_event (session_id, id, sequence, type, merchant_id, body, created_at)
      SELECT id, gen_random_uuid(), 1, 'payment_session.expired', merchant_id, '', now()
      FROM payment_session WHERE id IN (${ids});
      UPDATE audit_walk SET session_id = '00000000-0000-0000-0000-000000000000'`);
    const reported: number[] = [];
    for (let turn = 0; turn < 2; turn++) {
      await letAuditRun();
      expect(await auditOnce(fixture.core)).toHaveLength(103);
      const page = { includeClosed: false, after: undefined, count: 200 };
      reported.push((await listWorkItems(fixture.core.database, page)).length);
    }
    expect(reported).toEqual([100, 103]);
    await asOwner(`DELETE FROM outbox_event WHERE session_id IN (${ids})`);
  });

  it("walks over every session, including those without a recent change", async () => {
    const session = await failedOver();
    await asOwner(`UPDATE attempt SET changed_at = now() - interval '30 d', stop = 'scheme_rule'
        WHERE session_id = '${session.id}';
      UPDATE payment_session SET settled_at = now() - interval '30 d' WHERE id = '${session.id}';
      UPDATE audit_walk SET session_id = '${session.id}'`);
    await letAuditRun();
    expect((await auditOnce(fixture.core)).map(({ sessionId }) => sessionId)).not.toContain(session.id);
    await asOwner("TRUNCATE work_item");
    await letAuditRun();
    expect((await auditOnce(fixture.core)).map(({ sessionId }) => sessionId)).toContain(session.id);
    await asOwner(`UPDATE attempt SET stop = NULL WHERE session_id = '${session.id}'`);
  });
});

describe("app.audit()", () => {
  beforeAll(withoutConstraints);

  it("has a test for every rule", () => {
    expect([...new Set(breaks.map(([rule]) => rule))].toSorted()).toEqual(auditRules.toSorted());
  });

  it.each(breaks)("reports %s after: %s", async (rule, sql, also = []) => {
    const session = await failedOver();
    expect(await rulesOf(session)).toEqual([]);
    await breakIt(session, sql);
    expect([...new Set(await rulesOf(session))]).toEqual([rule, ...also].toSorted());
    await asOwner(`DELETE FROM outbox_event WHERE session_id = '${session.id}';
      DELETE FROM authentication WHERE session_id = '${session.id}';
      DELETE FROM attempt WHERE session_id = '${session.id}'; DELETE FROM payment_session WHERE id = '${session.id}'`);
  });

  it("counts an open session with a final event as a violation too", async () => {
    const session = await fixture.newSession();
    await asOwner(`INSERT INTO outbox_event (session_id, id, sequence, type, merchant_id, body, created_at)
      VALUES ('${session.id}', '${systemRuntime.uuid()}', 1, 'payment_session.expired', gen_random_uuid(), '', now())`);
    expect(await rulesOf(session)).toEqual(["final_event"]);
  });
});
