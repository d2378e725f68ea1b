import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { toDomainError } from "./edge/error-mapping.ts";
import { openDatabase } from "./environment.ts";
import { listenForOutbox, notifyOutboxListeners } from "./events/outbox-notices.ts";
import { databaseConnectionsMax, idleInTransactionMs, leaseMs } from "./limits.ts";
import { Secret } from "./platform/secrets.ts";
import { findMissingLimits, sessionLimits, tellMissingLimits } from "./platform/session-limits.ts";
import { createTestDatabase, type TestDatabase } from "./testing/postgres.ts";

let testDatabase: TestDatabase;
let opened: Awaited<ReturnType<typeof openDatabase>>;
beforeAll(async () => {
  testDatabase = await createTestDatabase("environment");
  opened = await openDatabase(new Secret(testDatabase.url), []);
});
afterAll(async () => {
  await opened.orm.close(true);
  await testDatabase.drop();
});

/** What the caller of the API is told when this fails. */
async function failureOf(query: Promise<unknown>): Promise<string> {
  return query.then(
    () => expect.unreachable(),
    (error) => toDomainError(error).code,
  );
}

describe("openDatabase() through a pooler in transaction mode", () => {
  it("gives no statement a name and a connection no settings, and says which limits the role lacks", async () => {
    const { database, close } = await openDatabase(new Secret(testDatabase.url), [], {
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
    // Named once, a plan for any values is the cheaper one; made for every call, it looks at every partition.
    const planning = { name: "planning", text: "SELECT current_setting('plan_cache_mode') AS mode" };
    const custom = [{ mode: "force_custom_plan" }];
    expect(await database.query(planning, [])).toEqual(custom);
    expect(await database.transaction((tx) => tx.query(planning, []))).toEqual(custom);
    expect(await opened.database.query({ ...planning, name: "" }, [])).toEqual(custom);
    expect(await opened.database.query(planning, [])).not.toEqual(custom);
    // The role of a test has none of its own, so that what is here has come with the connection.
    const log = { warn: vi.fn() };
    await tellMissingLimits(database, log);
    for (const limit of Object.keys(sessionLimits)) expect(log.warn.mock.calls[0]?.[0].problem).toContain(limit);
    expect(database.sessions).toBeUndefined();
    await close();
  });

  it("hears notices past it, whether or not it keeps names", async () => {
    for (const pooler of ["transaction", "none"] as const) {
      const way = { pooler, connectionsMax: 1, directUrl: new Secret(testDatabase.url) };
      const { database, close } = await openDatabase(new Secret(testDatabase.url), [], way);
      const closing = new AbortController();
      const [listening, heard] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      let notices = 0;
      const onNotice = () => (notices++ === 0 ? listening : heard).resolve();
      const listener = listenForOutbox({ sessions: database.sessions!, onNotice, closing: closing.signal });
      await listening.promise;
      // The pool's only connection is free for everybody else.
      notifyOutboxListeners(database);
      await heard.promise;
      closing.abort();
      await listener;
      await close();
    }
  });

  it("names them, and brings the limits along, where there is none", async () => {
    await opened.database.query({ name: "ready_once", text: "SELECT 1" }, []);
    const { rows } = await opened.database.pool.query("SELECT name FROM pg_prepared_statements");
    expect(rows).toContainEqual({ name: "ready_once" });
    expect(await findMissingLimits(opened.database.pool)).toEqual([]);
    expect(opened.database.sessions).toBe(opened.database.pool);
  });
});

describe("openDatabase()", () => {
  it("answers that the service is unavailable when no connection gets free in time", async () => {
    const { pool } = opened.database;
    const taken = await Promise.all(Array.from({ length: databaseConnectionsMax }, () => pool.connect()));
    const failure = await failureOf(opened.database.query({ name: "one_more", text: "SELECT 1" }, []));
    for (const client of taken) client.release();
    expect(failure).toBe("unavailable");
  });

  it("answers so too when a connection breaks in the middle of a statement", async () => {
    const client = await opened.database.pool.connect();
    const sleeping = failureOf(client.query("SELECT pg_sleep(20)"));
    (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
    expect(await sleeping).toBe("unavailable");
    client.release(true);
  });

  it("gives up a statement that a silent server never answers, after the server's own limit", () => {
    const options = opened.database.pool.options as { statement_timeout?: number; query_timeout?: number };
    expect(options.query_timeout).toBeGreaterThan(options.statement_timeout!);
  });

  it("has the server end a transaction whose process is stopped, before its lease lapses", async () => {
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

  it("lets the next one lock a row that a stopped process held, and lives on when it wakes", async () => {
    const lock = { name: "lock_it", text: "SELECT only_one FROM audit_walk FOR UPDATE" };
    const locked = Promise.withResolvers<void>();
    const waking = Promise.withResolvers<void>();
    const stopped = opened.database.transaction(async (tx) => {
      // The true limit with less patience, for this transaction alone.
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
