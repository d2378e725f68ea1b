import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sweepSignInsOnce } from "../accounts/sweep-sign-ins.ts";
import { createTestDatabase, type TestDatabase } from "../dev/testing/postgres.ts";
import { auditRetentionMs } from "../limits.ts";
import { schemaHistory } from "../migrations/schema-history.ts";
import { Database } from "../platform/database.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { sweepOldRowsOnce } from "./sweep-old-rows.ts";

const kinds = ["environment", "accounts", "vault"] as const;

let databases: Record<(typeof kinds)[number], TestDatabase & { owner: Pool; runtime: Database }>;
beforeAll(async () => {
  const opened = kinds.map(async (kind) => {
    const database = await createTestDatabase(kind);
    const owner = new Pool({ connectionString: database.ownerUrl, max: 1, pipeline: true });
    return [
      kind,
      {
        ...database,
        owner,
        runtime: new Database(new Pool({ connectionString: database.url, max: 2, pipeline: true })),
      },
    ];
  });
  databases = Object.fromEntries(await Promise.all(opened));
});
afterAll(async () => {
  for (const { owner, runtime, drop } of Object.values(databases ?? {})) {
    await Promise.all([owner.end(), runtime.pool.end()]);
    await drop();
  }
});

const id = () => `'${systemRuntime.uuid()}'`;
const hash = () => `'\\x${randomBytes(32).toString("hex")}'`;
const ago = (days: number) => `clock_timestamp() - interval '${days} days'`;
// Each table with its period in days and a row whose period runs from the given time.
const environmentRows: Record<string, [days: number, insert: (since: string) => string]> = {
  reconciliation_run: [
    92,
    (since) => `(id, started_at, window_from, window_to, all_cut, finished_at)
    VALUES (${id()}, ${since}, now() - interval '1 day', now(), true, ${since})`,
  ],
  audit_entry: [
    1_096,
    (since) => `(id, actor, action, subject, created_at) VALUES (${id()}, 'ada', 'X', 'x', ${since})`,
  ],
  analytics_payment: [
    1_098,
    (since) => `VALUES (${id()}, 15, ${since}, 'EUR', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0)`,
  ],
  analytics_authentication: [
    1_098,
    (since) => `VALUES (${id()}, 15, ${since}, 'A', 'EUR', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)`,
  ],
  analytics_arm: [1_098, (since) => `VALUES (${id()}, 15, ${since}, 1, '', 'A', 'EUR', 1, 0, 0, 0, 0, 0)`],
  card_submission: [2, (since) => `VALUES (${id()}, 1, app.first_id_at(${since}), ${since}, ${id()})`],
  tested_payment: [2, (since) => `VALUES (${id()}, ${id()}, ${id()}, ${since})`],
  tested_cards: [92, (since) => `VALUES (${id()}, ${since}, 1)`],
  braking: [400, (since) => `(merchant_id, threshold, cards, ended_at) VALUES (${id()}, 20, 21, ${since})`],
  braking_hold: [400, (since) => `VALUES (${id()}, true, ${since}, 'ada')`],
  blocklist_entry: [
    31,
    (since) => `VALUES (${id()}, ${id()}, 'NETWORK', '8.8.8.0/24', NULL, NULL, 'x', 'x', ${since}, ${since})`,
  ],
  analytics_cost: [
    1_098,
    (since) => `VALUES (${id()}, (${since})::date, 'A', 'CAPTURED', '', 0, '', '', 'EUR', 'EUR', 1, 100, 1)`,
  ],
  analytics_arm_cost: [1_098, (since) => `VALUES (${id()}, 15, ${since}, 1, '', 'A', 'B', 'EUR', 1, 0, 0, 0)`],
};
const accountsRows: Record<string, [days: number, insert: (since: string) => string]> = {
  audit_entry: environmentRows.audit_entry!,
  invitation: [
    31,
    (since) => `(id, merchant_id, email, role, live_role, token_hash, invited_by, expires_at, ended_at)
    SELECT ${id()}, id, 'ada@example.com', 'VIEWER', 'NONE', ${hash()}, 'x', now() + interval '1 day', ${since} FROM merchant`,
  ],
  sign_in: [
    31,
    (since) => `(id, member_id, token_hash, user_agent, address, expires_at)
    SELECT ${id()}, id, ${hash()}, 'x', 'x', ${since} FROM member`,
  ],
};

async function expectSwept(
  { owner, runtime }: { owner: Pool; runtime: Database },
  rows: typeof environmentRows,
  sweep: (database: Database) => Promise<boolean>,
): Promise<void> {
  for (const [table, [days, insert]] of Object.entries(rows)) {
    for (const age of [days + 1, days - 1]) await owner.query(`INSERT INTO ${table} ${insert(ago(age))}`);
  }
  await sweep(runtime);
  for (const table of Object.keys(rows)) {
    const { rows: left } = await owner.query(`SELECT 1 FROM ${table}`);
    expect([table, left.length]).toEqual([table, 1]);
  }
}

describe("sweepOldRowsOnce()", () => {
  it("removes rows older than their period, and nothing younger", () =>
    expectSwept(databases.environment, environmentRows, sweepOldRowsOnce));

  it("forgets the network of a card's first row, which stays while the card has others", async () => {
    const { owner, runtime } = databases.environment;
    await owner.query("TRUNCATE card_submission");
    await owner.query(`INSERT INTO card_submission (fingerprint, nth, session_id, submitted_at, merchant_id, network)
      SELECT one, nth, app.first_id_at(now() - days * interval '1 day'), now(), one, '198.51.100.0/24'
      FROM (SELECT gen_random_uuid() AS one) card, (VALUES (1, 3), (2, 3), (3, 1)) row (nth, days)`);
    await sweepOldRowsOnce(runtime);
    const { rows } = await owner.query("SELECT nth, network FROM card_submission ORDER BY nth");
    expect(rows).toEqual([
      { nth: 1, network: null },
      { nth: 3, network: "198.51.100.0/24" },
    ]);
  });

  it("cannot remove a young row of the audit trail, nor rows without a retention period", async () => {
    const { runtime } = databases.environment;
    const remove = (table: string) => runtime.query({ name: `remove ${table}`, text: `DELETE FROM ${table}` }, []);
    await expect(remove("audit_entry")).rejects.toThrow(/never changed/);
    for (const table of ["payment_session", "work_item"]) await expect(remove(table)).rejects.toThrow(/permission/);
    expect(JSON.stringify(schemaHistory)).toContain(`interval '${auditRetentionMs / 86_400_000} days'`);
  });
});

describe("sweepSignInsOnce()", () => {
  it("removes sign-ins, invitations and rows of the audit trail past their period, and nothing younger", async () => {
    const { owner } = databases.accounts;
    await owner.query(`INSERT INTO merchant (id, name) VALUES (${id()}, 'Shop')`);
    await owner.query(`INSERT INTO member (id, email, name, password_hash)
      VALUES (${id()}, 'ada@example.com', 'Ada', '$argon2id$x')`);
    await expectSwept(databases.accounts, accountsRows, sweepSignInsOnce);
  });
});

describe("the retention page", () => {
  it.each(kinds)("states the retention period of every table of %s", async (kind) => {
    const page = readFileSync(join(import.meta.dirname, "..", "..", "docs", "retention.md"), "utf8");
    const section = page.split(`**\`${kind}\`**`)[1]?.split("\n**`")[0] ?? "";
    const named = [...section.matchAll(/^\| (`.+?`) \|/gm)].flatMap(([, names]) => names!.match(/\w+/g)!);
    const { rows } = await databases[kind].owner.query(
      `SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition`,
    );
    expect(named.toSorted()).toEqual(rows.map(({ name }) => name).toSorted());
  });
});
