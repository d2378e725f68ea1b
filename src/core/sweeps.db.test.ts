import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { processNoticesOnce } from "../notifications/process-notices.ts";
import { Database, type Statement } from "../platform/database.ts";
import { systemEntropy } from "../platform/entropy.ts";
import { encodeId } from "../platform/ids.ts";
import { auditOnce } from "./audit-sessions.ts";
import type { Core } from "./core.ts";
import { type CoreFixture, startCoreFixture } from "./core-fixture.ts";
import { expireIdempotencyOnce } from "./expire-idempotency.ts";
import { expireOnce } from "./expire-sessions.ts";
import { raiseAlarmsOnce } from "./raise-alarms.ts";
import { reconcileOnce } from "./reconcile.ts";

let fixture: CoreFixture;
beforeAll(async () => {
  fixture = await startCoreFixture();
});
afterAll(() => fixture.close());

class WatchedDatabase extends Database {
  readonly texts: string[] = [];

  override query<Row extends object>(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    this.texts.push(statement.text);
    return super.query<Row>(statement, values);
  }
}

type Turn = (core: Core) => Promise<unknown>;

/** How PostgreSQL runs the statements of a turn, transactions apart, when it may read no whole table. */
async function plansOf(turn: Turn): Promise<string[][]> {
  const database = new WatchedDatabase(fixture.core.database.pool);
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
    ["reconcileOnce()", reconcileOnce],
  ])("looks up what is due instead of reading every row: %s", async (_name, turn) => {
    const plans = await plansOf(turn);
    expect(plans).not.toEqual([]);
    for (const plan of plans) {
      // The walk of the audit is one row.
      const unbound = plan.filter((line) => /Filter: .*clock_timestamp/.test(line) && !line.includes("audited_at"));
      expect(unbound).toEqual([]);
    }
  });
});

describe("raiseAlarmsOnce()", () => {
  it("finds captures without a report by an index of those alone", async () => {
    const plans = (await plansOf(raiseAlarmsOnce)).map((plan) => plan.join("\n"));
    const finding = plans.find((plan) => plan.includes("on payment_session_rest s") && !plan.includes("Update on"));
    const scans = finding?.match(/.*Scan.* on payment_session_.*\n.*/g) ?? [];
    expect(scans.length).toBeGreaterThan(1);
    for (const scan of scans) {
      expect(scan).toMatch(
        /Index Scan using payment_session_unconfirmed_\w+ on payment_session_\w+ s_\d\n *Index Cond: \(settled_at <=/,
      );
    }
  });
});

describe("processNoticesOnce()", () => {
  it("finds a notice's attempt by an index of its own, for it knows no session", async () => {
    const [connectionId] = fixture.connectionIds;
    const text = `
      INSERT INTO gateway_notice (connection_id, notice_id, kind, attempt_reference, gateway_reference)
      VALUES ($1, 'n1', 'other', $2, 'r1')`;
    const attemptReference = encodeId("att", systemEntropy.uuid());
    await fixture.core.database.query({ name: "take_notice", text }, [connectionId, attemptReference]);
    const finding = (await plansOf(processNoticesOnce)).find((plan) => plan.join().includes(" on attempt"));
    const scans = finding?.filter((line) => line.includes(" on attempt")) ?? [];
    expect(scans.length).toBeGreaterThan(1);
    for (const scan of scans) expect(scan).toMatch(/Index Scan using attempt_by_id_(\w+) on attempt_\1 /);
  });
});
