import { Pool } from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { createTestDatabase, type TestDatabase } from "../testing/postgres.ts";
import { Database, isDatabaseDown, type Tx } from "./database.ts";

let testDatabase: TestDatabase;
let pool: Pool;
let database: Database;
beforeAll(async () => {
  testDatabase = await createTestDatabase("environment");
  pool = new Pool({ connectionString: testDatabase.ownerUrl, max: 2, pipeline: true });
  database = new Database(pool);
  // A sequence does not roll back: its first value stands for the first try.
  await pool.query(`
    CREATE TABLE note (text text PRIMARY KEY);
    CREATE SEQUENCE try;
    CREATE FUNCTION lose_first() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN
      IF nextval('try') = 1 THEN RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '40P01'; END IF;
      RETURN currval('try'); END $$`);
});
afterAll(async () => {
  await pool.end();
  await testDatabase.drop();
});
beforeEach(() => pool.query("TRUNCATE note"));

const insert = { name: "insert_note", text: "INSERT INTO note VALUES ($1)" };
const select = { name: "select_notes", text: "SELECT text FROM note ORDER BY text" };
const loseFirst = { name: "lose_first", text: "SELECT lose_first()" };

async function notes(): Promise<string[]> {
  return (await database.query<{ text: string }>(select, [])).map(({ text }) => text);
}

/** As a step of the flow does: a change whose own chain of calls is long, and the rows read behind it. */
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

  it("tells what failed, not that something before did", async () => {
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

  it("keeps no connection to a server that takes no changes any more, and calls it down", async () => {
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

  it("begins again after a deadlock, also where its loser is hidden behind what was sent after it", async () => {
    await database.transaction(async (tx) => {
      tx.send(insert, ["once"]);
      await changeAndRead(tx, () => tx.query(loseFirst, []));
    });
    expect(await notes()).toEqual(["once"]);
  });
});

describe("Database.together()", () => {
  it.each([
    ["keeps names", () => new Database(pool)],
    ["goes through a pooler", () => new Database(pool, { sessions: undefined })],
  ])("answers each of several statements, and fails with what one failed with, where it %s", async (_way, open) => {
    const asked = open();
    await asked.query(insert, ["a"]);
    const rows = await asked.together((together) =>
      Promise.all([together.query(select, []), together.query({ name: "one", text: "SELECT 1 AS one" }, [])]),
    );
    expect(rows).toEqual([[{ text: "a" }], [{ one: 1 }]]);
    const failing = asked.together((together) =>
      Promise.all([together.query(insert, ["a"]), together.query(select, [])]),
    );
    await expect(failing).rejects.toThrow("duplicate key");
    expect(await asked.query(select, [])).toEqual([{ text: "a" }]);
  });
});
