import { Pool } from "pg";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { forFile } from "../dev/testing/for-file.ts";
import { createTestDatabase } from "../dev/testing/postgres.ts";
import { callOf } from "./batches.ts";
import { Database } from "./database.ts";

let database: Database;
const testDatabase = await forFile(() => createTestDatabase("environment"), "drop");
const pool = await forFile(() => new Pool({ connectionString: testDatabase.ownerUrl, max: 8, pipeline: true }), "end");
await pool.query(`
  CREATE TABLE note (id uuid PRIMARY KEY, text text, by_statement timestamptz);
  CREATE SEQUENCE lost;
  CREATE FUNCTION app.note(of_note uuid, said text, answers int) RETURNS TABLE (id uuid, answer int) LANGUAGE plpgsql AS $$
  #variable_conflict use_column
  BEGIN
    IF said = 'refused' THEN RAISE EXCEPTION 'not this one' USING ERRCODE = 'LL001'; END IF;
    IF said = 'deadlock' AND nextval('lost') = 1 THEN RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '40P01'; END IF;
    IF said = 'cut' THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
    UPDATE note SET text = said, by_statement = statement_timestamp() WHERE note.id = of_note;
    RETURN QUERY SELECT of_note, n FROM generate_series(1, answers) n;
  END $$`);

const idOf = (place: number) => `00000000-0000-7000-8000-${String(place).padStart(12, "0")}`;
beforeEach(async () => {
  database = new Database(pool);
  await pool.query("TRUNCATE note");
  await pool.query(
    "INSERT INTO note (id) SELECT ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid FROM generate_series(1, 200) n",
  );
});

const note = callOf("note", ["uuid", "text", "int"], "r.id, r.answer");
const write = (place: number, text: string, answers = 1) =>
  database.query<{ id: string; answer: number }>(note, [idOf(place), text, answers]);
const written = async () =>
  (
    await pool.query<{ id: string; text: string; at: string }>(
      "SELECT id, text, by_statement::text AS at FROM note WHERE text IS NOT NULL ORDER BY id",
    )
  ).rows;
const outcome = (call: Promise<unknown>) =>
  call.then(
    () => "done",
    (error: Error) => error.message,
  );

describe("Database.query() of a call", () => {
  it("runs the first alone, and those that come meanwhile in one statement", async () => {
    await Promise.all([write(5, "a"), write(3, "b"), write(9, "c"), write(1, "d")]);
    const rows = await written();
    expect(rows.map(({ text }) => text)).toEqual(["d", "b", "a", "c"]);
    const [fourth, second, first, third] = rows.map(({ at }) => at);
    expect(first).not.toBe(second);
    expect([third, fourth]).toEqual([second, second]);
  });

  it("returns to each its own rows, however many", async () => {
    const answers = await Promise.all([write(1, "a"), write(2, "a", 0), write(4, "a", 3), write(3, "a", 1)]);
    const of = (place: number, count: number) =>
      Array.from({ length: count }, (_, index) => ({ id: idOf(place), answer: index + 1 }));
    expect(answers).toEqual([of(1, 1), [], of(4, 3), of(3, 1)]);
  });

  it("carries what an array could confuse", async () => {
    const texts = ["plain", 'a "quote", a comma', "back\\slash {brace}", "NULL", "", "line\nbreak"];
    await Promise.all(texts.map((text, index) => write(index + 1, text)));
    expect((await written()).map(({ text }) => text)).toEqual(texts);
  });

  it("refuses one call without the others", async () => {
    const calls = ["a", "b", "refused", "c"].map((text, index) => outcome(write(index + 1, text)));
    expect(await Promise.all(calls)).toEqual(["done", "done", "not this one", "done"]);
    expect((await written()).map(({ text }) => text)).toEqual(["a", "b", "c"]);
  });

  it("delays no other call when one of a batch waits for a locked row", async () => {
    const other = await pool.connect();
    onTestFinished(() => other.release());
    await other.query("BEGIN");
    await other.query("SELECT FROM note WHERE id = $1 FOR UPDATE", [idOf(3)]);
    const first = write(1, "a");
    const locked = outcome(write(3, "late"));
    await Promise.all([first, write(2, "b"), write(4, "c"), write(5, "d")]);
    // The next statement is not behind it either.
    await Promise.all([write(6, "e"), write(7, "f")]);
    expect((await written()).map(({ text }) => text)).toEqual(["a", "b", "c", "d", "e", "f"]);
    await other.query("COMMIT");
    expect(await locked).toBe("done");
    expect((await written()).map(({ text }) => text)).toContain("late");
  });

  it("delays no other call when a lone call waits for a locked row", async () => {
    const other = await pool.connect();
    onTestFinished(() => other.release());
    await other.query("BEGIN");
    await other.query("SELECT FROM note WHERE id = $1 FOR UPDATE", [idOf(3)]);
    const locked = outcome(write(3, "late"));
    await Promise.all([write(1, "a"), write(2, "b")]);
    expect((await written()).map(({ text }) => text)).toEqual(["a", "b"]);
    await other.query("COMMIT");
    expect(await locked).toBe("done");
  });

  it("repeats a call that lost a deadlock", async () => {
    await pool.query("ALTER SEQUENCE lost RESTART");
    await write(1, "deadlock");
    expect((await written()).map(({ text }) => text)).toEqual(["deadlock"]);
  });

  it("repeats nothing whose end it does not know", async () => {
    const calls = ["a", "b", "cut", "c"].map((text, index) => outcome(write(index + 1, text)));
    const [first, ...others] = await Promise.all(calls);
    expect(first).toBe("done");
    for (const each of others) expect(each).toMatch(/terminat/);
    expect((await written()).map(({ text }) => text)).toEqual(["a"]);
    await write(2, "again");
    expect((await written()).map(({ text }) => text)).toEqual(["a", "again"]);
  });

  it("sends at most 32 together", async () => {
    await Promise.all(Array.from({ length: 65 }, (_, index) => write(index + 1, "a")));
    expect(new Set((await written()).map(({ at }) => at)).size).toBe(3);
  });
});
