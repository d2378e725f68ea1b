import { describe, expect, it, vi } from "vitest";
import { forFile } from "../dev/testing/for-file.ts";
import { createTestDatabase } from "../dev/testing/postgres.ts";
import { toDomainError } from "../edge/error-mapping.ts";
import { databaseConnectionsMax, idleInTransactionMs, leaseMs } from "../limits.ts";
import { Secret } from "../platform/secrets.ts";
import { findMissingLimits, logMissingLimits, sessionLimits } from "../platform/session-limits.ts";
import { openDatabase } from "./open-database.ts";

const testDatabase = await forFile(() => createTestDatabase("environment"), "drop");
const opened = await forFile(() => openDatabase(new Secret(testDatabase.url)));

/** Returns the error that a caller of the API gets when this fails. */
async function failureOf(query: Promise<unknown>): Promise<string> {
  return query.then(
    () => expect.unreachable(),
    (error) => toDomainError(error).code,
  );
}

describe("openDatabase() through a pooler in transaction mode", () => {
  it("names no statement and sets nothing on a connection, and logs the limits that the role lacks", async () => {
    const { database, close } = openDatabase(new Secret(testDatabase.url), {
      pooler: "transaction",
      connectionsMax: 1,
    });
    const named = { name: "named", text: "SELECT $1::int AS one" };
    await database.query(named, [1]);
    await database.transaction(async (tx) => {
      tx.send(named, [1]);
      await tx.query(named, [1]);
    });
    expect((await database.pool.query("SELECT name FROM pg_prepared_statements")).rows).toEqual([]);
    // A generic plan is cheaper for a named statement; without a name it is made on every call and considers every
    // partition.
    const planning = { name: "planning", text: "SELECT current_setting('plan_cache_mode') AS mode" };
    const custom = [{ mode: "force_custom_plan" }];
    expect(await database.query(planning, [])).toEqual(custom);
    expect(await database.transaction((tx) => tx.query(planning, []))).toEqual(custom);
    expect(await opened.database.query({ ...planning, name: "" }, [])).toEqual(custom);
    expect(await opened.database.query(planning, [])).not.toEqual(custom);
    // The role of a test has no limits of its own, so these came with the connection.
    const log = { warn: vi.fn() };
    await logMissingLimits(database, log);
    for (const limit of Object.keys(sessionLimits)) expect(log.warn.mock.calls[0]?.[0].problem).toContain(limit);
    await close();
  });

  it("names statements and sets limits on connections where there is no pooler", async () => {
    await opened.database.query({ name: "ready_once", text: "SELECT 1" }, []);
    const { rows } = await opened.database.pool.query("SELECT name FROM pg_prepared_statements");
    expect(rows).toContainEqual({ name: "ready_once" });
    expect(await findMissingLimits(opened.database.pool)).toEqual([]);
  });
});

describe("openDatabase()", () => {
  it("reports the service as unavailable when no connection becomes free in time", async () => {
    const { pool } = opened.database;
    const clients = await Promise.all(Array.from({ length: databaseConnectionsMax }, () => pool.connect()));
    const failure = await failureOf(opened.database.query({ name: "one_more", text: "SELECT 1" }, []));
    for (const client of clients) client.release();
    expect(failure).toBe("unavailable");
  });

  it("reports the service as unavailable when a connection breaks during a statement", async () => {
    const client = await opened.database.pool.connect();
    const sleeping = failureOf(client.query("SELECT pg_sleep(20)"));
    (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
    expect(await sleeping).toBe("unavailable");
    client.release(true);
  });

  it("keeps an idle connection, with the statements that it has planned", async () => {
    const { pool } = opened.database;
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    try {
      (await pool.connect()).release();
      const { idleCount } = pool;
      expect(idleCount).toBeGreaterThan(0);
      vi.advanceTimersByTime(3_600_000);
      expect(pool.idleCount).toBe(idleCount);
    } finally {
      vi.useRealTimers();
    }
  });

  it("gives up a statement that a silent server never answers, after the server's own timeout", () => {
    const options = opened.database.pool.options as { statement_timeout?: number; query_timeout?: number };
    expect(options.query_timeout).toBeGreaterThan(options.statement_timeout!);
  });

  it("makes the server end a transaction whose process is stopped, before its lease lapses", async () => {
    const [row] = await opened.database.query<{ ms: number }>(
      {
        name: "idle_limit",
        text: "SELECT setting::int AS ms FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout'",
      },
      [],
    );
    expect(row?.ms).toBe(idleInTransactionMs);
    expect(idleInTransactionMs).toBeLessThan(leaseMs);
  });

  it("lets another process lock a row that a stopped process held, and survives when it wakes", async () => {
    const lock = { name: "lock_it", text: "SELECT only_one FROM audit_walk FOR UPDATE" };
    const locked = Promise.withResolvers<void>();
    const waking = Promise.withResolvers<void>();
    const stopped = opened.database.transaction(async (tx) => {
      // The real limit, but shorter, for this transaction alone.
      await tx.query({ name: "less_patience", text: "SET LOCAL idle_in_transaction_session_timeout = 200" }, []);
      await tx.query(lock, []);
      locked.resolve();
      await waking.promise;
      await tx.query(lock, []);
    });
    const failure = failureOf(stopped);
    await locked.promise;
    await opened.database.transaction((tx) => tx.query(lock, []));
    waking.resolve();
    expect(await failure).toBe("unavailable");
    await opened.database.query(lock, []);
  });
});
