import { Client } from "pg";
import { v7 } from "uuid";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../dev/testing/postgres.ts";
import { runCommand } from "../dev/testing/run-command.ts";
import { runCommandHere } from "../dev/testing/run-command-here.ts";
import { opening, refused, setSession, submitted } from "./payment-rows.fixture.ts";
import { setRetention } from "./retention.ts";

let database: TestDatabase;
let runtime: Client;
let owner: Client;
beforeAll(async () => {
  database = await createTestDatabase("environment");
  [runtime, owner] = [
    new Client({ connectionString: database.url }),
    new Client({ connectionString: database.ownerUrl }),
  ];
  await Promise.all([runtime.connect(), owner.connect()]);
});
afterAll(async () => {
  await Promise.all([runtime.end(), owner.end()]);
  await database.drop();
});
afterEach(() => setClock("clock_timestamp()"));

const setClock = (sql: string) =>
  owner.query(`CREATE OR REPLACE FUNCTION app.clock() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$SELECT ${sql}$$`);
const rowsOf = async <Row extends object>(sql: string, values: unknown[] = []) =>
  (await owner.query<Row>(sql, values)).rows;
const keep = async () =>
  (await runtime.query<{ kind: string; suffix: string; done: string }>("SELECT * FROM app.keep_partitions()")).rows;

const monthMs = 31 * 24 * 3_600_000;
/** An id of the middle of a month, so many months from this one. */
function idInMonth(months: number): string {
  const now = new Date();
  return v7({ msecs: Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, 15) });
}
function suffixOf(months: number): string {
  const now = new Date();
  const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, 15));
  return `_${month.toISOString().slice(0, 7).replace("-", "_")}`;
}
async function tableOf(sessionId: string): Promise<string> {
  const rows = await rowsOf<{ name: string }>(
    "SELECT tableoid::regclass::text AS name FROM payment_session WHERE id = $1",
    [sessionId],
  );
  return rows[0]!.name;
}
const makeMonth = (months: number) =>
  owner.query(`SELECT app.make_set(kind, '_rest', '${suffixOf(months)}', format('FOR VALUES FROM (%L) TO (%L)',
      app.first_id_at(m), app.first_id_at(m + interval '1 month')))
    FROM app.retention, (SELECT date_trunc('month', now(), 'UTC') + ${months} * interval '1 month' AS m) months`);

/** Everything that keeps wrong rows out of each partition of a table, in words without the partition's name. */
async function wallsOf(parent: string): Promise<Map<string, string[]>> {
  const walls = await rowsOf<{ partition: string; wall: string }>(
    `WITH partition AS (
       SELECT c.oid, c.relname, substr(c.relname, length($1) + 1) AS suffix
       FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = to_regclass('public.' || $1)
     ), wall AS (
       SELECT p.relname, p.suffix, c.contype::text || ' ' || c.convalidated || ' ' || pg_get_constraintdef(c.oid) AS wall
       FROM partition p JOIN pg_constraint c ON c.conrelid = p.oid
       UNION ALL SELECT p.relname, p.suffix, pg_get_indexdef(i.indexrelid) FROM partition p JOIN pg_index i ON i.indrelid = p.oid
       WHERE i.indisvalid
       UNION ALL SELECT p.relname, p.suffix, t.tgenabled::text || ' ' || pg_get_triggerdef(t.oid)
       FROM partition p JOIN pg_trigger t ON t.tgrelid = p.oid WHERE NOT t.tgisinternal
     ) SELECT relname AS partition, replace(wall, suffix, '') AS wall FROM wall ORDER BY 1, 2`,
    [parent],
  );
  const byPartition = Map.groupBy(walls, ({ partition }) => partition);
  return new Map([...byPartition].map(([partition, ofIt]) => [partition, ofIt.map(({ wall }) => wall)]));
}

const parents = ["payment_session", "attempt", "authentication", "outbox_event", "delivery", "delivery_attempt"];

describe("a table of payments", () => {
  it("keeps each session in the month that its id was made in, and what no month is there for in a partition for all", async () => {
    const places = { [suffixOf(0)]: idInMonth(0), [suffixOf(1)]: idInMonth(1), _rest: idInMonth(30) };
    for (const [suffix, session] of Object.entries(places)) {
      await submitted(owner, "AUTHORIZED", session);
      expect(await tableOf(session)).toBe(`partitions.payment_session${suffix}`);
    }
  });

  it.each(parents)("has the same walls in every partition of %s", async (parent) => {
    const [first, ...others] = [...(await wallsOf(parent))];
    expect(others.length).toBeGreaterThan(1);
    expect(first![1].filter((wall) => wall.startsWith("f "))).not.toEqual([]);
    for (const [name, walls] of others) expect([name, walls]).toEqual([name, first![1]]);
  });

  it("is changed without a lock on any other month, guards and checks at the commit included", async () => {
    const session = idInMonth(0);
    const [id, connection] = [v7(), v7()];
    const run = await submitted(owner, "DECLINED", session);
    const named = (sql: string) =>
      run(sql.replaceAll(/(INTO|UPDATE) (attempt|payment_session)\b/g, `$1 partitions.$2${suffixOf(0)}`));
    await run("BEGIN");
    await named(opening(2, { id, connection }));
    await named(`UPDATE attempt SET status = 'DECLINED', failure_kind = 'HARD_DECLINE', answered_at = now(), completed_at = now()
      WHERE session_id = $session AND id = '${id}'`);
    await named(setSession("lease_epoch = lease_epoch + 1"));
    await run(
      `SELECT FROM partitions.move_attempt${suffixOf(0)}($session, '${id}', 'DECLINED', '{"retries":1}', '{}')`,
    );
    await run(`SELECT FROM partitions.take_over${suffixOf(0)}($session, 20000)`);
    await run("SET CONSTRAINTS ALL IMMEDIATE");
    const { rows } = await owner.query<{ name: string }>(
      `SELECT DISTINCT c.relname::text AS name FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
       WHERE l.pid = pg_backend_pid() AND c.relkind IN ('r', 'p') AND c.relname ~ '^(payment_session|attempt)' ORDER BY 1`,
    );
    await run("ROLLBACK");
    expect(rows.map(({ name }) => name)).toEqual([`attempt${suffixOf(0)}`, `payment_session${suffixOf(0)}`]);
  });

  it("refuses one hold for two attempts, though they are of different months and neither sees the other yet", async () => {
    const connection = v7();
    const hold = async (client: Client, session: string) => {
      const run = await submitted(client, "DECLINED", session);
      const id = v7();
      await run(opening(2, { id, connection }));
      await run("BEGIN");
      return {
        run,
        adopt: `UPDATE attempt SET status = 'AUTHORIZED', gateway_reference = 'same' WHERE id = '${id}'`,
        id,
      };
    };
    const other = new Client({ connectionString: database.ownerUrl });
    await other.connect();
    const first = await hold(owner, idInMonth(0));
    const second = await hold(other, idInMonth(1));
    await first.run(first.adopt);
    const late = second.run(second.adopt).then(
      () => "stored",
      (error: Error) => error.message,
    );
    await first.run(`UPDATE payment_session SET winner_attempt_id = '${first.id}' WHERE id = $session; COMMIT`);
    expect(await late).toContain("attempt_gateway_reference");
    await other.end();
  });
});

describe("app.keep_partitions()", () => {
  it("makes a month before it begins, once, with keys that hold", async () => {
    expect(await keep()).toEqual([]);
    await setClock(`clock_timestamp() + interval '${monthMs} milliseconds'`);
    const made = await keep();
    expect(made.map(({ kind, done }) => [kind, done])).toEqual([
      ["delivery_log", "made"],
      ["payments", "made"],
    ]);
    expect(await keep()).toEqual([]);
    await setClock("clock_timestamp()");
    const session = idInMonth(2);
    const run = await submitted(owner, "DECLINED", session);
    expect(await tableOf(session)).toBe(`partitions.payment_session${suffixOf(2)}`);
    await refused(run, opening(2, { amount: 1 }), /attempt_session_id_amount_minor_currency_fkey/);
  });

  it("drops a month that is past its time and in which nothing waits, and no other", async () => {
    for (const months of [-20, -21, -22, -23]) await makeMonth(months);
    const [done, waiting, looked, unsent] = [-20, -21, -22, -23].map(idInMonth) as [string, string, string, string];
    for (const session of [done, waiting, looked, unsent]) {
      await owner.query(
        `INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, created_at, expires_at)
         VALUES ($1, $1, 4900, 'EUR', 'o', 1, now() - interval '2 years', now() - interval '1 year')`,
        [session],
      );
      if (session === waiting) continue;
      await owner.query(
        "UPDATE payment_session SET status = 'EXPIRED', phase = 'DONE', settled_at = now() WHERE id = $1",
        [session],
      );
    }
    await owner.query(
      `INSERT INTO work_item (id, kind, merchant_id, session_id, detail) VALUES ($1, 'ORPHANED_AUTHORIZATION', $1, $1, 'look')`,
      [looked],
    );
    const todo =
      "INSERT INTO event_todo (session_id, sequence, created_at, due_at, fanned_out) VALUES ($1, 1, now(), now(), true)";
    await runtime.query(todo, [unsent]);
    await owner.query("INSERT INTO connection (id, merchant_id, gateway, account) VALUES ($1, $1, 'A', 'a')", [done]);
    await owner.query(
      `INSERT INTO payout_line (connection_id, line_id, digest, merchant_id, gateway, kind, status, reason, gateway_type, gateway_reference, session_id, recorded_at)
       SELECT $1, line, '', $1, 'A', 'CAPTURE', 'UNMATCHED', 'unreadable', 't', '', session, at FROM (VALUES ('of the month', $1::uuid, now()),
         ('of another', $2, now() - interval '2 years'), ('of none', NULL, now() - interval '2 years'), ('new', NULL, now())) AS lines (line, session, at)`,
      [done, waiting],
    );
    const lines = async () =>
      (await rowsOf<{ id: string }>("SELECT line_id AS id FROM payout_line ORDER BY 1")).map(({ id }) => id);
    expect(await keep()).toEqual([]);
    await setRetention(database.ownerUrl, { paymentsMonths: 18, deliveryLogDays: 30 });
    const dropped = await keep();
    expect(dropped.filter(({ kind }) => kind === "payments")).toEqual([
      { kind: "payments", suffix: suffixOf(-20), done: "dropped" },
    ]);
    expect(dropped.filter(({ kind }) => kind === "delivery_log")).toHaveLength(4);
    const left = await rowsOf<{ id: string }>("SELECT id FROM payment_session WHERE id = ANY ($1) ORDER BY id DESC", [
      [done, waiting, looked, unsent],
    ]);
    expect(left.map(({ id }) => id)).toEqual([waiting, looked, unsent]);
    expect(await lines()).toEqual(["new", "of another"]);
    await owner.query(
      "UPDATE work_item SET closed_at = now(), closed_by = 'op', close_note = 'seen' WHERE session_id = $1",
      [looked],
    );
    expect(await keep()).toEqual([{ kind: "payments", suffix: suffixOf(-22), done: "dropped" }]);
    expect(await rowsOf("SELECT FROM work_item WHERE session_id = $1", [looked])).toEqual([]);
    await runtime.query("DELETE FROM event_todo WHERE session_id = $1", [unsent]);
    expect(await keep()).toEqual([{ kind: "payments", suffix: suffixOf(-23), done: "dropped" }]);
  });

  it("leaves a month where it is whose rows came before its tables", async () => {
    const early = idInMonth(4);
    await submitted(owner, "AUTHORIZED", early);
    await setClock(`now() + interval '3 months'`);
    expect((await keep()).filter(({ kind }) => kind === "payments").map(({ suffix }) => suffix)).toEqual([suffixOf(3)]);
    expect(await tableOf(early)).toBe("partitions.payment_session_rest");
  });
});

describe("how long rows are kept", () => {
  it.each([
    ["delete from a partition", "DELETE FROM partitions.payment_session_rest", /permission denied/],
    ["make a table", "CREATE TABLE partitions.attempt_x ()", /permission denied/],
    ["shorten a period", "UPDATE app.retention SET keep = interval '18 months'", /permission denied/],
    ["make a set", "SELECT app.make_set('payments', '_rest', '_x', 'DEFAULT')", /permission denied/],
    ["drop a month", "DROP TABLE partitions.payment_session_rest", /permission denied|must be owner/],
  ])("is no matter of the service's role: it cannot %s", async (_what, sql, reason) => {
    await expect(runtime.query(sql)).rejects.toThrow(reason);
  });

  it("is never shorter than disputes may take", async () => {
    await expect(setRetention(database.ownerUrl, { paymentsMonths: 17 })).rejects.toThrow("at least 18 months");
    await expect(setRetention(database.url, { paymentsMonths: 20 })).rejects.toThrow("Only the owner");
    const half = setRetention(database.ownerUrl, { paymentsMonths: 84, deliveryLogDays: 29 });
    await expect(half).rejects.toThrow("at least 30 days");
    expect(await setRetention(database.ownerUrl, {})).toEqual({ paymentsMonths: 18, deliveryLogDays: 30 });
  });

  it("is set and lifted by the owner's command", async () => {
    const command = ["retention", "--url", database.ownerUrl, "--json"];
    const set = await runCommand([...command, "--payments-months", "84", "--delivery-log-days", "90"]);
    expect(JSON.parse(set.out)).toEqual({ paymentsMonths: 84, deliveryLogDays: 90 });
    const lifted = await runCommandHere([...command, "--payments-months", "forever"]);
    expect(JSON.parse(lifted.out)).toEqual({ paymentsMonths: null, deliveryLogDays: 90 });
    expect(await setRetention(database.ownerUrl, { deliveryLogDays: null })).toMatchObject({ deliveryLogDays: null });
  });
});
