import { describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import { auditOnce } from "../../oversight/audit-sessions.ts";
import { processNotificationsOnce } from "../../oversight/notifications/process-notifications.ts";
import { raiseAlarmsOnce } from "../../oversight/raise-alarms.ts";
import { Database, type Statement } from "../../platform/database.ts";
import { encodeId } from "../../platform/ids.ts";
import { systemRuntime } from "../../platform/runtime.ts";
import { expireIdempotencyOnce } from "../../retention/expire-idempotency-keys.ts";
import type { Core } from "../core.ts";
import { expireOnce } from "../expire-sessions.ts";
import { recoverSessionsOnce } from "../submit-payment.ts";
import { startCoreFixture } from "./core.fixture.ts";

const fixture = await forFile(startCoreFixture);

class ObservedDatabase extends Database {
  readonly texts: string[] = [];

  override query<Row extends object>(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    this.texts.push(statement.text);
    return super.query<Row>(statement, values);
  }
}

type Turn = (core: Core) => Promise<unknown>;

/** Returns PostgreSQL's plans for the statements of a turn, except transactions, when sequential scans are disabled. */
async function plansOf(turn: Turn): Promise<string[][]> {
  const database = new ObservedDatabase(fixture.core.database.pool);
  await turn({ ...fixture.core, database });
  const client = await fixture.asOwner.pool.connect();
  await client.query("SET enable_seqscan = off");
  const plans: string[][] = [];
  for (const text of database.texts) {
    const { rows } = await client.query<Record<string, string>>(`EXPLAIN (GENERIC_PLAN, COSTS OFF) ${text}`);
    plans.push(rows.map((row) => String(row["QUERY PLAN"])));
  }
  client.release(true);
  return plans;
}

describe("a sweep over a table that only grows", () => {
  it.each<[string, Turn]>([
    ["auditOnce()", auditOnce],
    ["expireOnce()", expireOnce],
    ["expireIdempotencyOnce()", expireIdempotencyOnce],
    ["raiseAlarmsOnce()", raiseAlarmsOnce],
    ["recoverSessionsOnce()", recoverSessionsOnce],
  ])("looks up due rows instead of reading every row: %s", async (_name, turn) => {
    const plans = await plansOf(turn);
    expect(plans).not.toEqual([]);
    for (const plan of plans) {
      // The cursor of the audit is one row.
      const unbound = plan.filter((line) => /Filter: .*clock_timestamp/.test(line) && !line.includes("audited_at"));
      expect(unbound).toEqual([]);
    }
  });
});

describe("raiseAlarmsOnce()", () => {
  it("finds captures without a report by an index of those alone", async () => {
    const plans = (await plansOf(raiseAlarmsOnce)).map((plan) => plan.join("\n"));
    const finding = plans.filter((plan) => plan.includes("on payment_session_rest s") && !plan.includes("Update on"));
    const scans = finding.flatMap((plan) => plan.match(/.*Scan.* on payment_session_.*\n.*/g) ?? []);
    for (const index of ["unconfirmed", "hold_ends"])
      expect(scans.filter((scan) => scan.includes(`payment_session_${index}_`)).length).toBeGreaterThan(1);
    for (const scan of scans) {
      expect(scan).toMatch(
        /Index Scan using payment_session_(unconfirmed|hold_ends)_\w+ on payment_session_\w+ s_\d\n *Index Cond: \((settled_at|held_until) <=/,
      );
    }
  });
});

describe("processNotificationsOnce()", () => {
  it("finds a notification's attempt by an index of its own, because a notification names no session", async () => {
    const [connectionId] = fixture.connectionIds;
    const text = `
      INSERT INTO gateway_notification (connection_id, notification_id, kind, attempt_reference, gateway_reference)
      VALUES ($1, 'n1', 'other', $2, 'r1')`;
    const attemptReference = encodeId("att", systemRuntime.uuid());
    await fixture.core.database.query({ name: "take_notification", text }, [connectionId, attemptReference]);
    const finding = (await plansOf(processNotificationsOnce)).find((plan) => plan.join().includes(" on attempt"));
    const scans = finding?.filter((line) => line.includes(" on attempt")) ?? [];
    expect(scans.length).toBeGreaterThan(1);
    for (const scan of scans) expect(scan).toMatch(/Index Scan using attempt_by_id_(\w+) on attempt_\1 /);
  });
});
