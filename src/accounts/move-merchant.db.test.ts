import { expect, it } from "vitest";
import { addEntry, listBlocklist } from "../core/card-testing/blocklist.ts";
import {
  type CreatedSession,
  createSession,
  findCreatedSession,
  type NewSession,
  type SessionOwner,
} from "../core/create-session.ts";
import { cards, startCoreFixture } from "../core/scenarios/core.fixture.ts";
import { forFile } from "../dev/testing/for-file.ts";
import { systemRuntime } from "../platform/runtime.ts";
import { recordSettings } from "./merchant-settings.ts";
import { loadWallets, recordWallets, resealIdentities, sealIdentity } from "./merchant-wallets.ts";
import { closeCell, hasLeft, readConfiguration, recordOrders, writeConfiguration } from "./move-merchant.ts";

const cell = await forFile(startCoreFixture);
const { database } = cell.core;

const order = { amountMinor: 4900, currency: "EUR", orderRef: "order-1" };

async function newOwner() {
  const owner = { ...cell.owner, merchantId: systemRuntime.uuid() };
  await database.transaction((tx) => recordSettings(tx, owner));
  return owner;
}

/** A merchant whose configuration was copied to move it. */
async function copiedOwner() {
  const owner = await newOwner();
  return { owner, copied: await readConfiguration(database, owner.merchantId) };
}

/** Creates a session in a transaction that stays open until `commit`. */
async function creating(owner: SessionOwner, asked: NewSession, key: string) {
  const created = Promise.withResolvers<CreatedSession["session"]>();
  const { promise: mayCommit, resolve: commit } = Promise.withResolvers<void>();
  const committed = database.transaction(async (tx) => {
    const inTransaction = { ...cell.core, database: tx as unknown as typeof database };
    created.resolve((await createSession(inTransaction, owner, asked, key)).session);
    await mayCommit;
  });
  return { session: await created.promise, commit, committed };
}

async function waitForLock(): Promise<void> {
  const text = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
  for (let tries = 0; tries < 2_000; tries++)
    if ((await database.query({ name: "test_waiting", text }, [])).length > 0) return;
  throw new Error("no statement waits for a lock");
}

it("waits for a session that is being created, so that its key is found afterwards", async () => {
  const { owner, copied } = await copiedOwner();
  const { session, commit, committed } = await creating(owner, order, "before");
  const closing = database.transaction((tx) => closeCell(tx, copied, { merchantId: owner.merchantId, toCell: 2 }));
  await waitForLock();
  commit();
  await committed;
  expect(await closing).toBe(true);
  expect((await findCreatedSession(cell.core, owner, order, "before"))?.session.id).toBe(session.id);
});

it("refuses a session whose creation waited for the move, without a row", async () => {
  const { owner, copied } = await copiedOwner();
  let creating: Promise<unknown> | undefined;
  await database.transaction(async (tx) => {
    await closeCell(tx, copied, { merchantId: owner.merchantId, toCell: 2 });
    creating = createSession(cell.core, owner, order, "during").catch((error) => error);
    await waitForLock();
  });
  expect(await creating).toMatchObject({ code: "idempotency_in_progress" });
  expect(await findCreatedSession(cell.core, owner, order, "during")).toBeUndefined();
  expect(await hasLeft(database, { merchantId: owner.merchantId, toCell: 2 })).toBe(true);
  await expect(hasLeft(database, { merchantId: owner.merchantId, toCell: 3 })).rejects.toThrow("cell 2");
});

it("leaves the cell open if the configuration has changed since it was copied", async () => {
  const { owner, copied } = await copiedOwner();
  await database.transaction((tx) => recordSettings(tx, { ...owner, sessionLifetimeMs: 600_000 }));
  const to = { merchantId: owner.merchantId, toCell: 2 };
  expect(await database.transaction((tx) => closeCell(tx, copied, to))).toBe(false);
  expect(await hasLeft(database, to)).toBe(false);
});

it("leaves no sealed key of a wallet behind, which could not be sealed again", async () => {
  const owner = await newOwner();
  const { sealing } = cell.core;
  const { merchantId } = owner;
  const named = { id: "1", merchantIdentifier: "merchant.com.example", createdAt: "", signingRequest: "" };
  const setUp = { identities: [{ ...named, sealed: sealIdentity(sealing, merchantId, "key") }] };
  const wallets = { countryCode: "DE" };
  await database.transaction((tx) => recordWallets(tx, merchantId, { wallets, setUp }));
  const copied = await readConfiguration(database, merchantId);
  expect(copied.text).toContain("merchant.com.example");
  await database.transaction((tx) => closeCell(tx, copied, { merchantId, toCell: 2 }));
  expect(await loadWallets(database, merchantId)).toEqual({ wallets: {}, setUp: {} });
  const next = { current: "next", keys: { ...sealing.keys, next: Buffer.alloc(32, 3) } };
  expect(await database.transaction((tx) => resealIdentities(tx, next))).toBe(0);
});

it("takes the block list along", async () => {
  const owner = await newOwner();
  const { merchantId } = owner;
  const entry = { id: systemRuntime.uuid(), reason: "Tried cards", addedBy: "Dora", endsAt: null };
  const added = await database.transaction((tx) =>
    addEntry(tx, merchantId, { ...entry, kind: "EMAIL", given: "eve@example.com" }),
  );
  const copied = await readConfiguration(database, merchantId);
  await cell.asOwner.pool.query("DELETE FROM blocklist_entry WHERE merchant_id = $1", [merchantId]);
  await database.transaction((tx) => writeConfiguration(tx, copied, { merchantId, fromCell: 1 }));
  expect(await listBlocklist(database, merchantId)).toEqual([added]);
});

it("of a merchant that refuses repeated orders ends what is not submitted, waits for what is, and hands all orders over", async () => {
  const { core, owner } = cell;
  await core.database.transaction((tx) => recordSettings(tx, owner));
  await cell.asOwner.pool.query("UPDATE merchant_settings SET repeated_orders = 'REFUSE' WHERE merchant_id = $1", [
    owner.merchantId,
  ]);
  await cell.setRule([]);
  const paid = await cell.submit(await cell.newSession(), cards.approved);
  const unsubmitted = await cell.newSession();
  const copied = await readConfiguration(core.database, owner.merchantId);
  const { paying } = await cell.pauseAt("a.authorize", await cell.newSession());
  const handed: string[] = [];
  const closing = core.database.transaction((tx) =>
    closeCell(
      tx,
      copied,
      { merchantId: owner.merchantId, toCell: 2 },
      async ({ orders }) => void handed.push(orders!.text),
    ),
  );
  await cell.sandbox.release({});
  const late = await paying;
  expect(await closing).toBe(true);
  const orders = JSON.parse(handed[0]!) as { order_ref: string; session_id: string }[];
  expect(orders.map(({ session_id: id }) => id).toSorted()).toEqual([paid.id, late.id].toSorted());
  await expect(cell.submit(unsubmitted, cards.approved)).rejects.toMatchObject({ code: "session_expired" });
  await core.database.transaction((tx) => recordOrders(tx, owner.merchantId, { text: handed[0]! }));
  const { rows } = await cell.asOwner.pool.query("SELECT session_id FROM app.order_winner");
  expect(rows).toHaveLength(2);
});

const saving = { ...order, customerRef: "customer-1", saveCard: {} };
const submitTo = (session: Parameters<typeof cell.loadSession>[0]) =>
  cell.submitWith(session as never, { number: cards.approved, consent: { template: "card.1", locale: "en" } });

it("takes no payment any more that would store the first card in the cell that the merchant leaves", async () => {
  const owner = await newOwner();
  const { session } = await createSession(cell.core, owner, saving);
  const copied = await readConfiguration(database, owner.merchantId);
  const handed: unknown[] = [];
  await database.transaction((tx) =>
    closeCell(tx, copied, { merchantId: owner.merchantId, toCell: 2 }, async (parts) => void handed.push(parts)),
  );
  await expect(submitTo(session)).rejects.toMatchObject({ code: "session_expired" });
  expect(handed).toEqual([{ cards: { text: expect.any(String) } }]);
});

it("takes none either in a session whose creation it has waited for", async () => {
  const { owner, copied } = await copiedOwner();
  const { session, commit, committed } = await creating(owner, saving, "first-card");
  const closing = database.transaction((tx) => closeCell(tx, copied, { merchantId: owner.merchantId, toCell: 2 }));
  await waitForLock();
  commit();
  await committed;
  expect(await closing).toBe(true);
  await expect(submitTo(session)).rejects.toMatchObject({ code: "session_expired" });
});
