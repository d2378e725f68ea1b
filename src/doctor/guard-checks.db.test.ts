/** A migrated database is as the committed schema has it, and every change of a guard is named. */
import { Pool } from "pg";
import { describe, expect, it } from "vitest";
import { forFile } from "../dev/testing/for-file.ts";
import { createTestDatabase, openTestDatabase } from "../dev/testing/postgres.ts";
import { Database } from "../platform/database.ts";
import { examineGuards } from "./guard-checks.ts";

const { owner, database } = await forFile(openTestDatabase);

it.for(["environment", "accounts", "vault"] as const)("knows a database of kind %s", async (kind) => {
  const testDatabase = await createTestDatabase(kind);
  const examined = new Database(new Pool({ connectionString: testDatabase.url, max: 1, pipeline: true }));
  const findings = await examineGuards(kind, { kind }, examined);
  await examined.pool.end();
  await testDatabase.drop();
  expect(findings).toMatchObject([{ state: "OK" }]);
});

describe("a database of an environment", () => {
  const partition = async () => {
    const { rows } = await owner.query(
      "SELECT format('partitions.%I', 'attempt' || suffix) AS name FROM app.partition_sets WHERE kind = 'payments' ORDER BY 1 LIMIT 1",
    );
    return rows[0].name as string;
  };

  /** Returns the doctor's findings after a change by the owner, which is then undone. */
  async function saysAfter(change: string, undo: string, isNewer = false): Promise<unknown[]> {
    await owner.query(change);
    try {
      return (await examineGuards("a", { kind: "environment", isNewer }, database)).map(({ state, says }) => [
        state,
        says,
      ]);
    } finally {
      await owner.query(undo);
    }
  }
  const definitionOf = async (sql: string) => (await owner.query(`SELECT ${sql} AS text`)).rows[0].text as string;

  it("lacks a trigger", async () => {
    const made = await definitionOf(
      "(SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'attempt'::regclass AND tgname = 'guard_decision')",
    );
    expect(await saysAfter("DROP TRIGGER guard_decision ON attempt", made)).toEqual([
      ["PROBLEM", "the trigger attempt.guard_decision is missing"],
    ]);
  });

  it("has a trigger switched off, on the whole table or on one partition", async () => {
    const switches = [
      ["attempt", "guard_decision"],
      [await partition(), "guard_decision"],
      [await partition(), "guard"],
    ];
    for (const [table, trigger] of switches) {
      const found = await saysAfter(
        `ALTER TABLE ${table} DISABLE TRIGGER ${trigger}`,
        `ALTER TABLE ${table} ENABLE TRIGGER ${trigger}`,
      );
      expect(found, table).toEqual([["PROBLEM", `the trigger attempt.${trigger} is not in force`]]);
    }
  });

  it("lacks the guard of one partition", async () => {
    const table = await partition();
    const made = await definitionOf(
      `(SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = '${table}'::regclass AND tgname = 'guard')`,
    );
    expect(await saysAfter(`DROP TRIGGER guard ON ${table}`, made)).toEqual([
      ["PROBLEM", "the trigger attempt.guard is missing on some partitions"],
    ]);
  });

  it("lacks a check, and has another one under its name", async () => {
    const add = "ALTER TABLE outbox_event ADD CONSTRAINT outbox_event_sequence_check";
    const restore = `${add} CHECK (sequence >= 1)`;
    const drop = "ALTER TABLE outbox_event DROP CONSTRAINT outbox_event_sequence_check";
    const name = "the constraint outbox_event.outbox_event_sequence_check";
    expect(await saysAfter(drop, restore)).toEqual([["PROBLEM", `${name} is missing`]]);
    const loose = `${drop}; ${add} CHECK (sequence >= 0)`;
    expect(await saysAfter(loose, `${drop}; ${restore}`)).toEqual([["PROBLEM", `${name} differs from this version`]]);
  });

  it("lacks a foreign key and a unique index on one partition", async () => {
    const table = await partition();
    const key = "attempt_session_id_amount_minor_currency_fkey";
    const made = await definitionOf(
      `(SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = '${table}'::regclass AND conname = '${key}')`,
    );
    const name = "the constraint attempt.attempt_session_id_amount_minor_currency_fkey";
    expect(
      await saysAfter(
        `ALTER TABLE ${table} DROP CONSTRAINT ${key}`,
        `ALTER TABLE ${table} ADD CONSTRAINT ${key} ${made}`,
      ),
    ).toEqual([["PROBLEM", `${name} is missing on some partitions`]]);
    const index = table.replace("attempt", "attempt_gateway_reference");
    const indexed = await definitionOf(`pg_get_indexdef('${index}'::regclass)`);
    expect(await saysAfter(`DROP INDEX ${index}`, indexed)).toEqual([
      ["PROBLEM", "the unique index attempt_gateway_reference is missing on some partitions"],
    ]);
  });

  it("has a guard whose function says something else", async () => {
    const made = await definitionOf("pg_get_functiondef('partitions.guard_session_rest'::regproc)");
    const loose = made.replace("NEW.lease_epoch < OLD.lease_epoch", "NEW.lease_epoch < 0");
    expect(await saysAfter(loose, made)).toEqual([
      ["PROBLEM", "the function partitions.guard_session() differs from this version"],
    ]);
    expect(await saysAfter(loose, made, true)).toMatchObject([["OK", expect.anything()]]);
  });

  it("lacks an index that only makes it fast, and has a column more", async () => {
    expect(await saysAfter("DROP INDEX attempt_by_id", "CREATE INDEX attempt_by_id ON attempt (id)")).toEqual([
      ["WARNING", "the index attempt_by_id is missing"],
    ]);
    const column = await saysAfter(
      "ALTER TABLE endpoint ADD COLUMN mine text",
      "ALTER TABLE endpoint DROP COLUMN mine",
    );
    expect(column).toEqual([["WARNING", "the table endpoint differs from this version"]]);
  });
});
