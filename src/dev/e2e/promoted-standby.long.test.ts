/** A standby that lacks commits is promoted: no session continues before a person has declared the loss. */
import { mkdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import type { Core } from "../../core/core.ts";
import { expireSession } from "../../core/expire-sessions.ts";
import { takeOverSession } from "../../core/record/lease.ts";
import { claimSession } from "../../core/record/payment-functions.ts";
import { prepareDatabases } from "../../demo/databases.ts";
import { examineWork } from "../../doctor/work-checks.ts";
import { declareRestore, listInDoubt } from "../../oversight/declare-restore.ts";
import { raiseAlarmsOnce } from "../../oversight/raise-alarms.ts";
import { loadRecoveryFigures } from "../../oversight/recovery-figures.ts";
import { Database, isDatabaseDown } from "../../platform/database.ts";
import { systemRuntime } from "../../platform/runtime.ts";
import { Secret } from "../../platform/secrets.ts";
import { TestAuthority } from "../testing/certificates.ts";
import { type PostgresPair, startPostgresPair } from "../testing/postgres-replica.ts";
import { runCommand } from "../testing/run-command.ts";
import { testStateFolder } from "../testing/test-run.ts";

const stack = new AsyncDisposableStack();
let pair: PostgresPair;
let primary: Database;
/** The same roles at the standby. */
let promoted: Database;
let asOwner: Database;
let ownerUrl: string;

const merchantId = systemRuntime.uuid();
const [paid, lapsed, overdue] = [systemRuntime.uuid(), systemRuntime.uuid(), systemRuntime.uuid()] as const;

function open(url: string): Database {
  const pool = new Pool({ connectionString: url, max: 2, pipeline: true });
  // The primary disappears while its connections are idle.
  pool.on("error", () => {});
  stack.defer(() => pool.end());
  return new Database(pool);
}

const claim = (database: Database, sessionId: string) =>
  database.transaction(async (tx) => {
    const plan = { plan: [], skipped: [] };
    const vaultToken = new Secret("tok_1");
    claimSession(tx, { sessionId, vaultToken, ruleVersion: 1, plan, submissionBudgetMs: 60_000 });
  });

const stateOf = async (database: Database, sessionId: string) =>
  (
    await database.query({ name: "state", text: "SELECT phase, status FROM payment_session WHERE id = $1" }, [
      sessionId,
    ])
  )[0];

const doctorSays = async (database: Database) =>
  (await examineWork("test", database)).filter(({ says }) => /promoted|confirmed|synchronous/.test(says));

/** Returns false also while the standby has not replayed that the database, its roles or its tables were created. */
async function isReplayed(look: () => Promise<readonly object[]>): Promise<boolean> {
  try {
    return (await look()).length > 0;
  } catch (error) {
    const notYet = ["3D000", "28000", "28P01", "42P01", "3F000", "42883", "42501"];
    if (notYet.includes((error as { code?: string }).code ?? "")) return false;
    throw error;
  }
}

beforeAll(async () => {
  const name = `${inject("testRunName")}-promoted`;
  const folder = join(testStateFolder, name);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  stack.defer(() => rm(folder, { recursive: true }));
  const authority = new TestAuthority("Ours");
  stack.defer(() => void authority.close());
  const certificate = authority.issue("replica");
  pair = await startPostgresPair({ stateFolder: testStateFolder, dataName: `${name}-postgres`, certificate });
  stack.defer(() => pair.stop());
  const databases = await prepareDatabases(pair.primary.ownerUrl, folder);
  const { pathname } = new URL(databases.test);
  ownerUrl = pair.replicaUrl(Object.assign(new URL(pair.primary.ownerUrl), { pathname }).href);
  [primary, promoted, asOwner] = [open(databases.test), open(pair.replicaUrl(databases.test)), open(ownerUrl)];
  const owner = open(Object.assign(new URL(pair.primary.ownerUrl), { pathname }).href);
  stack.defer(() => owner.pool.end());
  await owner.query(
    {
      name: "",
      text: `WITH rule AS (INSERT INTO routing_rule (merchant_id, version, connection_ids, failover_on) VALUES ($1, 1, '{}', '{}'))
             INSERT INTO payment_session (id, merchant_id, amount_minor, currency, order_ref, secret_version, expires_at)
             SELECT id, $1, 4900, 'EUR', 'order-1042', 1, app.clock() + interval '30 minutes' FROM unnest($2::uuid[]) id`,
    },
    [merchantId, [paid, lapsed, overdue]],
  );
  await claim(primary, lapsed);
  await owner.query({ name: "", text: "UPDATE payment_session SET lease_until = app.clock() WHERE id = $1" }, [
    lapsed,
  ]);
  await owner.query({ name: "", text: "UPDATE payment_session SET expires_at = app.clock() WHERE id = $1" }, [
    overdue,
  ]);
  const last = "SELECT FROM payment_session WHERE id = $1 AND expires_at <= app.clock()";
  while (!(await isReplayed(() => promoted.query({ name: "", text: last }, [overdue]))));
  // Two servers, four databases: takes seconds, and more on a busy machine.
}, 120_000);
afterAll(() => stack.disposeAsync());

describe("a promoted standby that lacks a commit", { timeout: 60_000 }, () => {
  it("lets no session continue, gives the reason, and raises the alarm", async () => {
    expect(await doctorSays(primary)).toMatchObject([
      { state: "OK" },
      { state: "WARNING", says: expect.stringContaining("none of them synchronous") },
    ]);
    await pair.detach();
    await claim(primary, paid);
    await pair.primary.stop();
    await pair.promote();
    expect(await stateOf(promoted, paid)).toEqual({ phase: "IDLE", status: "CREATED" });
    const log = { error: vi.fn() };
    const core = { database: promoted, log } as unknown as Core;
    for (const goOn of [
      () => claim(promoted, paid),
      () => takeOverSession(promoted),
      () => expireSession(core, overdue),
    ]) {
      const error = await goOn().then(
        () => undefined,
        (refused: Error) => refused,
      );
      expect(error?.message).toContain("was promoted");
      expect(isDatabaseDown(error)).toBe(true);
    }
    await raiseAlarmsOnce(core);
    expect(log.error).toHaveBeenCalledWith({ alarm: "TIMELINE_CHANGED" }, expect.stringContaining("restore confirm"));
    expect(await loadRecoveryFigures(promoted)).toMatchObject({ isPromoted: true });
    expect(await doctorSays(promoted)).toMatchObject([
      { state: "PROBLEM", remedy: expect.stringContaining("restore declare") },
    ]);
    const byItself = promoted.query({ name: "", text: "UPDATE replica_mark SET timeline = app.timeline()" }, []);
    await expect(byItself).rejects.toThrow("only the owner");
  });

  it("continues once a person has confirmed that nothing was lost, and the audit trail says who", async () => {
    const confirm = ["restore", "confirm", "--url", ownerUrl, "--by", "ada", "--note", "planned"];
    expect(await runCommand(confirm)).toMatchObject({ code: 0, out: expect.stringContaining("00000002") });
    expect(await runCommand(confirm)).toMatchObject({ code: 1, err: expect.stringContaining("already confirmed") });
    const audit = { name: "", text: "SELECT actor, subject, after FROM audit_entry WHERE action = 'ConfirmTimeline'" };
    expect(await promoted.query(audit, [])).toEqual([
      { actor: "command line (ada)", subject: "00000002", after: { note: "planned" } },
    ]);
    expect(await takeOverSession(promoted)).toMatchObject({ sessionId: lapsed });
    await claim(promoted, paid);
    const log = { error: vi.fn() };
    await raiseAlarmsOnce({ database: promoted, log } as unknown as Core);
    expect(log.error).not.toHaveBeenCalled();
    expect(await loadRecoveryFigures(promoted)).toMatchObject({ isPromoted: false });
  });

  it("continues with every session in doubt once the restore is declared", async () => {
    await asOwner.query({ name: "", text: "UPDATE replica_mark SET timeline = '00000001'" }, []);
    const core = { database: promoted } as unknown as Core;
    await expect(expireSession(core, overdue)).rejects.toThrow("was promoted");
    await declareRestore(asOwner, { backupTakenAt: undefined });
    expect((await listInDoubt(promoted, 10)).map(({ id }) => id)).toEqual([paid, lapsed, overdue].sort());
    expect(await takeOverSession(promoted)).toBeDefined();
  });
});
