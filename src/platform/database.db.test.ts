import { Pool } from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { forFile } from "../dev/testing/for-file.ts";
import { createTestDatabase } from "../dev/testing/postgres.ts";
import { RefusingPooler } from "../dev/testing/refusing-pooler.ts";
import { Database, isDatabaseDown, type Tx } from "./database.ts";

const testDatabase = await forFile(() => createTestDatabase("environment"), "drop");
const pool = await forFile(() => new Pool({ connectionString: testDatabase.ownerUrl, max: 2, pipeline: true }), "end");
const database = new Database(pool);
// A sequence does not roll back: its first value identifies the first run.
await pool.query(`
  CREATE TABLE note (text text PRIMARY KEY);
  CREATE SEQUENCE try;
  CREATE FUNCTION lose_first() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN
    IF nextval('try') = 1 THEN RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '40P01'; END IF;
    RETURN currval('try'); END $$`);
beforeEach(() => pool.query("TRUNCATE note"));

const insert = { name: "insert_note", text: "INSERT INTO note VALUES ($1)" };
const select = { name: "select_notes", text: "SELECT text FROM note ORDER BY text" };
const loseFirst = { name: "lose_first", text: "SELECT lose_first()" };

async function notes(): Promise<string[]> {
  return (await database.query<{ text: string }>(select, [])).map(({ text }) => text);
}

/** Makes a change with a long chain of calls of its own, and reads the rows behind it, as a step of the flow does. */
async function changeAndRead(tx: Tx, change: () => Promise<unknown>): Promise<unknown> {
  const inner = async () => {
    await change();
  };
  const outer = async () => {
    await inner();
  };
  return Promise.all([outer(), tx.query(select, [])]);
}

describe("Database.transaction()", () => {
  it("runs statements in the order in which they were sent, and commits them together", async () => {
    const read = await database.transaction(async (tx) => {
      tx.send(insert, ["a"]);
      const [, rows] = await Promise.all([tx.query(insert, ["b"]), tx.query(select, [])]);
      tx.send(insert, ["c"]);
      return rows;
    });
    expect(read).toEqual([{ text: "a" }, { text: "b" }]);
    expect(await notes()).toEqual(["a", "b", "c"]);
  });

  const circular: Record<string, unknown> = {};
  circular.itself = circular;
  const otherText = { name: insert.name, text: "SELECT $1" };
  it.each([
    ["a value that it cannot write", "with BEGIN", insert, circular],
    ["a value that it cannot write", "behind a wait", insert, circular],
    ["another text under a name", "with BEGIN", otherText, "x"],
    ["another text under a name", "behind a wait", otherText, "x"],
  ])("does nothing if the driver refuses %s, %s", async (_, when, statement, value) => {
    const work = database.transaction(async (tx) => {
      if (when === "behind a wait") await tx.query(select, []);
      tx.send(insert, ["a"]);
      tx.send(statement, [value]);
      tx.send(insert, ["b"]);
    });
    await expect(work).rejects.toThrow(/circular|must be unique/);
    expect(await notes()).toEqual([]);
    await Promise.all([1, 2].map((each) => database.transaction(async (tx) => void tx.send(insert, [`${each}`]))));
    expect(await notes()).toEqual(["1", "2"]);
  });

  it("reports the statement that failed, not a later one that failed because of it", async () => {
    await database.query(insert, ["taken"]);
    for (const work of [
      (tx: Tx) => changeAndRead(tx, () => tx.query(insert, ["taken"])),
      async (tx: Tx) => {
        tx.send(insert, ["taken"]);
        await tx.query(select, []);
      },
      async (tx: Tx) => {
        await tx.query(insert, ["new"]);
        tx.send(insert, ["taken"]);
      },
    ]) {
      const hint = vi.fn();
      const failing = database.transaction(async (tx) => {
        tx.afterCommit(hint);
        await work(tx);
      });
      await expect(failing).rejects.toMatchObject({ code: "23505" });
      expect(hint).not.toHaveBeenCalled();
      expect(await notes()).toEqual(["taken"]);
    }
  });

  it("keeps no connection to a server that became read-only, and reports it as down", async () => {
    const onlyOne = new Pool({ connectionString: testDatabase.ownerUrl, max: 1, pipeline: true });
    const demoted = new Database(onlyOne);
    const pid = { name: "pid", text: "SELECT pg_backend_pid() AS pid" };
    const [before] = await demoted.query(pid, []);
    const failing = demoted.transaction(async (tx) => {
      tx.send({ name: "demote", text: "SET TRANSACTION READ ONLY" }, []);
      await tx.query(insert, ["refused"]);
    });
    expect(await failing.catch((error) => [error.code, isDatabaseDown(error)])).toEqual(["25006", true]);
    expect(await demoted.query(pid, [])).not.toEqual([before]);
    await onlyOne.end();
  });

  it("begins again after a deadlock, also if its error is hidden by statements sent later", async () => {
    await database.transaction(async (tx) => {
      tx.send(insert, ["once"]);
      await changeAndRead(tx, () => tx.query(loseFirst, []));
    });
    expect(await notes()).toEqual(["once"]);
  });
});

describe("Database.transaction() whose work swallows an error", () => {
  const bigNumber = { name: "big_number", text: "SELECT 9007199254740993 AS big" };

  it.each<[string, (tx: Tx) => Promise<unknown>, object]>([
    ["of a statement", (tx) => tx.query(insert, ["taken"]).catch(() => {}), { code: "23505" }],
    // The commit is on its way before the error has arrived.
    ["that has not come yet", async (tx) => void tx.query(insert, ["taken"]).catch(() => {}), { code: "23505" }],
    ["of an answer", (tx) => tx.query(bigNumber, []).catch(() => {}), { message: expect.stringContaining("bigint") }],
  ])("fails and commits nothing: an error %s", async (_which, swallow, error) => {
    await database.query(insert, ["taken"]);
    const hint = vi.fn();
    const failing = database.transaction(async (tx) => {
      tx.afterCommit(hint);
      await tx.query(insert, ["new"]);
      await swallow(tx);
    });
    await expect(failing).rejects.toMatchObject(error);
    expect(hint).not.toHaveBeenCalled();
    expect(await notes()).toEqual(["taken"]);
  });
});

describe("a statement of a transaction", () => {
  let pooler: RefusingPooler;
  let pooled: Pool;
  beforeAll(async () => {
    const { hostname, port } = new URL(testDatabase.ownerUrl);
    pooler = await RefusingPooler.open({ host: hostname, port: Number(port) });
    const url = Object.assign(new URL(testDatabase.ownerUrl), { hostname: "127.0.0.1", port: String(pooler.port) });
    pooled = new Pool({ connectionString: url.href, max: 1, pipeline: true });
  });
  afterAll(async () => {
    await pooled.end();
    await pooler.close();
  });

  const ways: [string, () => Database][] = [
    ["keeps names", () => new Database(pooled)],
    ["plans each time", () => new Database(pooled, { isPooled: true })],
  ];
  describe.each(ways)("by a database that %s", (_way, open) => {
    it.each<[string, (database: Database) => Promise<unknown>]>([
      [
        "sent",
        (opened) =>
          opened.transaction(async (tx) => {
            tx.send(insert, ["a"]);
            tx.send(insert, ["b"]);
          }),
      ],
      [
        "awaited",
        (opened) => opened.transaction((tx) => Promise.all([tx.query(insert, ["a"]), tx.query(insert, ["b"])])),
      ],
    ])("does nothing if BEGIN alone fails: %s", async (how, run) => {
      const reached = pooler.refuseNext();
      await expect(run(open()), how).rejects.toMatchObject({ code: "08006" });
      await reached;
      expect(await notes()).toEqual([]);
      await open().transaction(async (tx) => tx.send(insert, ["later"]));
      expect(await notes()).toEqual(["later"]);
    });

    it("waits for BEGIN's answer", async () => {
      const answer = Promise.withResolvers<void>();
      const reached = pooler.refuseNext(answer.promise);
      const failing = open().transaction(async (tx) => {
        tx.send(insert, ["before it"]);
        await reached;
        tx.send(insert, ["behind it"]);
        setImmediate(answer.resolve);
      });
      await expect(failing).rejects.toMatchObject({ code: "08006" });
      expect(await notes()).toEqual([]);
    });
  });

  it("alone is run once where BEGIN is refused, and not at all where it fails itself", async () => {
    const pooledDatabase = new Database(pooled, { isPooled: true });
    const alone = { name: "", text: "WITH x AS (SELECT 1) INSERT INTO note VALUES ($1)" };
    const reached = pooler.refuseNext();
    await pooledDatabase.query(alone, ["a"]);
    await reached;
    await expect(pooledDatabase.query(alone, ["a"])).rejects.toMatchObject({ code: "23505" });
    await pooledDatabase.query(alone, ["b"]);
    expect(await notes()).toEqual(["a", "b"]);
  });

  it("is refused once the transaction has ended", async () => {
    const goOn = Promise.withResolvers<void>();
    let late: Promise<unknown> | undefined;
    const failing = database.transaction((tx) => {
      late = goOn.promise.then(() => tx.query(insert, ["late"]));
      return Promise.all([late, tx.query({ name: "fails", text: "SELECT 1 / 0" }, [])]);
    });
    await expect(failing).rejects.toMatchObject({ code: "22012" });
    goOn.resolve();
    await expect(late).rejects.toThrow("has ended");
    expect(await notes()).toEqual([]);
  });

  it("keeps names usable that were sent behind a failed statement", async () => {
    const fresh = { name: "never_prepared", text: "SELECT text FROM note WHERE text <> $1" };
    const onlyOne = new Pool({ connectionString: testDatabase.ownerUrl, max: 1, pipeline: true });
    const opened = new Database(onlyOne);
    const failing = opened.transaction(async (tx) => {
      tx.send({ name: "fails", text: "SELECT 1 / 0" }, []);
      await tx.query(fresh, ["x"]);
    });
    await expect(failing).rejects.toMatchObject({ code: "22012" });
    expect(await opened.transaction((tx) => tx.query(fresh, ["x"]))).toEqual([]);
    await onlyOne.end();
  });

  it("that cannot be sent fails with its own error, and its transaction with it", async () => {
    const failing = database.transaction(async (tx) => {
      tx.send(insert, ["a"]);
      await tx.query({ name: insert.name, text: "SELECT another" }, []);
    });
    await expect(failing).rejects.toThrow("must be unique");
    expect(await notes()).toEqual([]);
  });
});

describe("Database.together()", () => {
  it.each([
    ["keeps names", () => new Database(pool)],
    ["goes through a pooler", () => new Database(pool, { isPooled: true })],
  ])("answers each of several statements, and fails with the error of one, if it %s", async (_way, open) => {
    const opened = open();
    await opened.query(insert, ["a"]);
    const rows = await opened.together((together) =>
      Promise.all([together.query(select, []), together.query({ name: "one", text: "SELECT 1 AS one" }, [])]),
    );
    expect(rows).toEqual([[{ text: "a" }], [{ one: 1 }]]);
    const failing = opened.together((together) =>
      Promise.all([together.query(insert, ["a"]), together.query(select, [])]),
    );
    await expect(failing).rejects.toThrow("duplicate key");
    expect(await opened.query(select, [])).toEqual([{ text: "a" }]);
  });
});
