import { afterAll, beforeAll, expect, it } from "vitest";
import { createSession, findCreatedSession } from "../core/create-session.ts";
import { type CoreFixture, startCoreFixture } from "../core/scenarios/core.fixture.ts";
import type { Queryable } from "../platform/database.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { recordSettings } from "./merchant-settings.ts";
import { closeCell, hasLeft, readConfiguration } from "./move-merchant.ts";

let cell: CoreFixture;
beforeAll(async () => {
  cell = await startCoreFixture();
});
afterAll(() => cell.close());

const order = { amountMinor: 4900, currency: "EUR", orderRef: "order-1" };

async function newOwner() {
  const owner = { ...cell.owner, merchantId: systemRuntime.uuid() };
  await cell.core.database.transaction((tx) => recordSettings(tx, owner));
  return owner;
}

/** Waits until a statement of this database waits for a lock. */
async function waitForLock(queryable: Queryable): Promise<void> {
  const text = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
  for (let tries = 0; tries < 2_000; tries++)
    if ((await queryable.query({ name: "test_waiting", text }, [])).length > 0) return;
  throw new Error("no statement waits for a lock");
}

it("waits for a session that is being created, so that its key is found afterwards", async () => {
  const owner = await newOwner();
  const { database } = cell.core;
  const copied = await readConfiguration(database, owner.merchantId);
  const { promise: created, resolve: onCreated } = Promise.withResolvers<string>();
  const { promise: mayCommit, resolve: commit } = Promise.withResolvers<void>();
  const creating = database.transaction(async (tx) => {
    const inTransaction = { ...cell.core, database: tx as unknown as typeof database };
    onCreated((await createSession(inTransaction, owner, order, "before")).session.id);
    await mayCommit;
  });
  const sessionId = await created;
  const closing = database.transaction((tx) => closeCell(tx, copied, { merchantId: owner.merchantId, toCell: 2 }));
  await waitForLock(cell.core.database);
  commit();
  await creating;
  expect(await closing).toBe(true);
  expect((await findCreatedSession(cell.core, owner, order, "before"))?.session.id).toBe(sessionId);
});

it("refuses a session whose creation waited for the move, without a row", async () => {
  const owner = await newOwner();
  const { database } = cell.core;
  const copied = await readConfiguration(database, owner.merchantId);
  let creating: Promise<unknown> | undefined;
  await database.transaction(async (tx) => {
    await closeCell(tx, copied, { merchantId: owner.merchantId, toCell: 2 });
    creating = createSession(cell.core, owner, order, "during").catch((error) => error);
    await waitForLock(cell.core.database);
  });
  expect(await creating).toMatchObject({ code: "idempotency_in_progress" });
  expect(await findCreatedSession(cell.core, owner, order, "during")).toBeUndefined();
  expect(await hasLeft(database, { merchantId: owner.merchantId, toCell: 2 })).toBe(true);
  await expect(hasLeft(database, { merchantId: owner.merchantId, toCell: 3 })).rejects.toThrow("cell 2");
});

it("leaves the cell open if the configuration has changed since it was copied", async () => {
  const owner = await newOwner();
  const { database } = cell.core;
  const copied = await readConfiguration(database, owner.merchantId);
  await database.transaction((tx) => recordSettings(tx, { ...owner, sessionLifetimeMs: 600_000 }));
  const to = { merchantId: owner.merchantId, toCell: 2 };
  expect(await database.transaction((tx) => closeCell(tx, copied, to))).toBe(false);
  expect(await hasLeft(database, to)).toBe(false);
});
