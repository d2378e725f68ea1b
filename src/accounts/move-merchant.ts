/**
 * Moves a merchant to another cell of its environment: copies its configuration there, and closes the cell that it
 * leaves for new sessions. Its sessions stay, with their events, deliveries and holds, and so do all guards.
 */

import { setTimeout as pause } from "node:timers/promises";
import { type Queryable, type Statement, type Tx, unnamed } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import type { MerchantId } from "../platform/ids.ts";
import { findSettings, lockConfiguration } from "./merchant-settings.ts";

// Each table of a merchant's configuration, with its key. Rows of the last one are never changed.
const tables = [
  { table: "merchant_settings", key: "merchant_id", changes: true },
  { table: "api_key", key: "id", changes: true },
  { table: "connection", key: "id", changes: true },
  { table: "connection_credential", key: "connection_id, version", changes: true },
  { table: "endpoint", key: "id", changes: true },
  { table: "blocklist_entry", key: "id", changes: true },
  { table: "braking_hold", key: "merchant_id", changes: true },
  { table: "routing_rule", key: "merchant_id, version", changes: false },
] as const;

export type Configuration = { readonly text: string };

// Columns that calls change are left out, because the copy is compared at its end.
const rowsOf = (table: string, key: string, where: string) =>
  `'${table}', (SELECT coalesce(jsonb_agg(to_jsonb(t) - 'last_used_at' ORDER BY ${key}), '[]') FROM ${table} t WHERE ${where})`;

const selectConfiguration: Statement = {
  name: unnamed,
  text: `SELECT json_build_object(${tables
    .map(({ table, key }) => {
      if (table === "connection_credential")
        return rowsOf(table, key, "connection_id IN (SELECT id FROM connection WHERE merchant_id = $1)");
      return rowsOf(table, key, table === "api_key" ? "merchant_id = $1 AND revoked_at IS NULL" : "merchant_id = $1");
    })
    .join(", ")})::text AS text`,
};

/**
 * Reads a merchant's configuration: sealed values as they are, because the cells of an environment have the same keys.
 */
export async function readConfiguration(queryable: Queryable, merchantId: MerchantId): Promise<Configuration> {
  const [row] = await queryable.query<Configuration>(selectConfiguration, [merchantId]);
  return row!;
}

const revokeKeys: Statement = {
  name: unnamed,
  text: `UPDATE api_key SET revoked_at = app.clock()
         WHERE merchant_id = $1 AND revoked_at IS NULL AND id <> ALL (SELECT (one ->> 'id')::uuid FROM jsonb_array_elements($2::jsonb) one)`,
};

const noteArrival: Statement = {
  name: unnamed,
  text: `UPDATE merchant_settings SET former_cells = former_cells || $2::smallint, moved_here_at = app.clock()
         WHERE merchant_id = $1`,
};

/** Writes a configuration of another cell into this one, over the rows of an interrupted move. */
export async function writeConfiguration(
  tx: Tx,
  { text }: Configuration,
  { merchantId, fromCell }: { merchantId: MerchantId; fromCell: number },
): Promise<void> {
  const rows = JSON.parse(text) as Record<string, readonly Record<string, unknown>[]>;
  await tx.query(revokeKeys, [merchantId, JSON.stringify(rows.api_key)]);
  for (const { table, key, changes } of tables) {
    const columns = Object.keys(rows[table]?.[0] ?? {});
    if (columns.length === 0) continue;
    const names = columns.map((column) => `"${column}"`).join(", ");
    const action = changes
      ? `UPDATE SET ${columns.map((column) => `"${column}" = EXCLUDED."${column}"`).join(", ")}`
      : "NOTHING";
    const insert = `INSERT INTO ${table} (${names}) SELECT ${names} FROM jsonb_populate_recordset(NULL::${table}, $1::jsonb)
      ON CONFLICT (${key}) DO ${action}`;
    await tx.query({ name: unnamed, text: insert }, [JSON.stringify(rows[table])]);
  }
  await tx.query(noteArrival, [merchantId, fromCell]);
}

// SHARE waits for every statement that creates a session under a key, and makes the next ones wait for the commit: each
// of them is either found by its key, or sees that the merchant has moved.
const lockCreations: Statement = { name: unnamed, text: "LOCK TABLE idempotency IN SHARE MODE" };

const close: Statement = {
  name: unnamed,
  // Sealed values exist in one cell only, because a closed one cannot seal them again: the address of the chat, and
  // keys of wallets.
  text: `UPDATE merchant_settings SET moved_to = $2, alert_chat_sealed = NULL, alert_chat_host = NULL, wallets = NULL, wallet_set_up = NULL
         WHERE merchant_id = $1`,
};

// A cell does not know the orders of another one. A claim of such a session waits for this transaction, and is then too
// late.
const endUnsubmitted: Statement = {
  name: unnamed,
  text: "SELECT app.expire_unsubmitted_of($1)",
};
const countOpen: Statement = {
  name: unnamed,
  text: `
    SELECT (SELECT count(*) FROM payment_session WHERE merchant_id = $1 AND phase = 'PROCESSING' AND status = 'CREATED')::int
      + (SELECT count(*) FROM stored_payment WHERE merchant_id = $1 AND saving = 'REQUESTED')::int AS open`,
};
const selectOrders: Statement = {
  name: unnamed,
  text: `
    SELECT m.repeated_orders = 'REFUSE' AS "refusesRepeats",
      (SELECT coalesce(jsonb_agg(to_jsonb(w)), '[]') FROM app.order_winner w WHERE w.merchant_id = $1)::text AS text
    FROM merchant_settings m WHERE m.merchant_id = $1`,
};
const writeOrders: Statement = { name: unnamed, text: "SELECT app.write_orders($1, $2::jsonb)" };

/** The orders of a merchant that refuses a second payment of one, as one text. */
export type Orders = { readonly text: string };

/** Writes a merchant's orders into the cell that it moves to. */
export async function recordOrders(tx: Tx, merchantId: MerchantId, { text }: Orders): Promise<void> {
  await tx.query(writeOrders, [merchantId, text]);
}

const selectCards: Statement = {
  name: unnamed,
  text: `
    SELECT EXISTS (SELECT FROM payment_method WHERE merchant_id = $1) OR EXISTS (SELECT FROM agreement WHERE merchant_id = $1)
      OR EXISTS (SELECT FROM stored_payment WHERE merchant_id = $1 AND saving = 'REQUESTED')
      OR EXISTS (SELECT FROM payment_session s JOIN stored_payment p ON p.session_id = s.id
                 WHERE s.merchant_id = $1 AND s.phase = 'IDLE' AND s.status = 'CREATED' AND p.role IN ('SAVE','SETUP')) AS "hasCards"`,
};
const readCards: Statement = { name: unnamed, text: "SELECT app.read_stored_cards($1)::text AS text" };
const writeCards: Statement = { name: unnamed, text: "SELECT app.write_stored_cards($1, $2::jsonb)" };
const removeCards: Statement = { name: unnamed, text: "SELECT app.remove_stored_cards($1)" };

/** The stored cards of a merchant's customers, with their agreements, as one text. */
export type Cards = { readonly text: string };

/** Writes a merchant's stored cards into the cell that it moves to. */
export async function recordCards(tx: Tx, merchantId: MerchantId, { text }: Cards): Promise<void> {
  await tx.query(writeCards, [merchantId, text]);
}

// A submission takes seconds; while creations wait, only those of the last seconds are left.
const openWaitMs = 10_000;
const lastOpenWaitMs = 2_000;
const openPauseMs = 100;

/**
 * Ends a merchant's unsubmitted sessions, and waits for those in processing. Throws `state_conflict` if that takes too
 * long.
 */
async function drain(tx: Tx, merchantId: MerchantId, waitMs: number): Promise<void> {
  await tx.query(endUnsubmitted, [merchantId]);
  for (let waitedMs = 0; ; waitedMs += openPauseMs) {
    const [counted] = await tx.query<{ open: number }>(countOpen, [merchantId]);
    if (counted?.open === 0) return;
    if (waitedMs >= waitMs) {
      const what = `${counted?.open} payments of the merchant are held, being processed or storing a card`;
      const why = "It refuses a second payment of an order, or has stored cards, which are in one cell only.";
      throw new DomainError("state_conflict", `${what}. ${why} Repeat the move once they have ended.`);
    }
    await pause(openPauseMs);
  }
}

/**
 * Closes this cell for the merchant's new sessions, if its configuration is still the one that was copied; otherwise
 * changes nothing and returns false. Creations of all merchants wait for the end of this transaction. `handOver` gets
 * all orders of a merchant that refuses a second payment of an order, and all cards of one with stored cards, once no
 * payment of the merchant can be made here any more. The cards are then removed here.
 */
export async function closeCell(
  tx: Tx,
  copied: Configuration,
  { merchantId, toCell }: { merchantId: MerchantId; toCell: number },
  handOver: (parts: { readonly orders?: Orders; readonly cards?: Cards }) => Promise<void> = async () => {},
): Promise<boolean> {
  await lockConfiguration(tx, merchantId);
  if ((await readConfiguration(tx, merchantId)).text !== copied.text) return false;
  const [before] = await tx.query<{ refusesRepeats: boolean }>(selectOrders, [merchantId]);
  if (before?.refusesRepeats || (await hasCards(tx, merchantId))) await drain(tx, merchantId, openWaitMs);
  await tx.query(lockCreations, []);
  // The first card may be stored by a session that was created meanwhile, and the drained ones may have stored theirs.
  const storesCards = await hasCards(tx, merchantId);
  if (before?.refusesRepeats || storesCards) {
    await drain(tx, merchantId, lastOpenWaitMs);
    const [orders] = before?.refusesRepeats ? await tx.query<Orders>(selectOrders, [merchantId]) : [];
    const [cards] = storesCards ? await tx.query<Cards>(readCards, [merchantId]) : [];
    await handOver({ ...(orders && { orders }), ...(cards && { cards }) });
  }
  await tx.query(close, [merchantId, toCell]);
  if (storesCards) await tx.query(removeCards, [merchantId]);
  return true;
}

/** Reports whether a merchant has stored cards or agreements, or may have: an open session stores one. */
async function hasCards(tx: Tx, merchantId: MerchantId): Promise<boolean> {
  const [found] = await tx.query<{ hasCards: boolean }>(selectCards, [merchantId]);
  return found?.hasCards === true;
}

/**
 * Reports whether the merchant has already left this cell for the given one. Throws `state_conflict` if it has left for
 * another, or if it has been in the given one: a cell that it has left never makes new sessions of it.
 */
export async function hasLeft(
  cell: Queryable,
  { merchantId, toCell }: { merchantId: MerchantId; toCell: number },
): Promise<boolean> {
  const settings = await findSettings(cell, merchantId);
  if (settings === undefined) throw new DomainError("not_found", "The merchant is not in this environment.");
  const { movedTo, formerCells } = settings;
  if (movedTo === toCell) return true;
  if (movedTo !== null)
    throw new DomainError("state_conflict", `An earlier move to cell ${movedTo} must be finished first.`);
  if (formerCells.includes(toCell))
    throw new DomainError("state_conflict", "The merchant has left this cell and cannot return to it.");
  return false;
}
