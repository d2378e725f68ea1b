/**
 * Moves a merchant to another cell of its environment: copies its configuration there, and closes the cell that it
 * leaves for new sessions. Its sessions stay, with their events, deliveries and holds, and so do all guards.
 */
import { type Queryable, type Statement, type Tx, unnamed } from "../platform/database.ts";
import { DomainError } from "../platform/errors.ts";
import { findSettings, lockConfiguration } from "./merchant-settings.ts";

// Each table of a merchant's configuration, with its key. Rows of the last one are never changed.
const tables = [
  { table: "merchant_settings", key: "merchant_id", changes: true },
  { table: "api_key", key: "id", changes: true },
  { table: "connection", key: "id", changes: true },
  { table: "connection_credential", key: "connection_id, version", changes: true },
  { table: "endpoint", key: "id", changes: true },
  { table: "routing_rule", key: "merchant_id, version", changes: false },
] as const;

/** A merchant's configuration, as one text that can be compared. */
export type Configuration = { readonly text: string };

const rowsOf = (table: string, key: string, where: string) =>
  `'${table}', (SELECT coalesce(jsonb_agg(to_jsonb(t) ORDER BY ${key}), '[]') FROM ${table} t WHERE ${where})`;

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

/** Reads a merchant's configuration: sealed values as they are, for the cells of an environment have the same keys. */
export async function readConfiguration(queryable: Queryable, merchantId: string): Promise<Configuration> {
  const [row] = await queryable.query<Configuration>(selectConfiguration, [merchantId]);
  return row!;
}

const revokeKeys: Statement = {
  name: unnamed,
  text: "UPDATE api_key SET revoked_at = app.clock() WHERE merchant_id = $1 AND revoked_at IS NULL",
};

const noteArrival: Statement = {
  name: unnamed,
  text: `UPDATE merchant_settings SET former_cells = former_cells || $2::smallint, moved_here_at = app.clock()
         WHERE merchant_id = $1`,
};

/** Writes a configuration of another cell into this one. What an interrupted move has left here is replaced. */
export async function writeConfiguration(
  tx: Tx,
  { text }: Configuration,
  { merchantId, fromCell }: { merchantId: string; fromCell: number },
): Promise<void> {
  const rows = JSON.parse(text) as Record<string, readonly Record<string, unknown>[]>;
  await tx.query(revokeKeys, [merchantId]);
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
  // The address of the chat is kept in one cell only, for a closed one cannot seal it again.
  text: "UPDATE merchant_settings SET moved_to = $2, alert_chat_sealed = NULL, alert_chat_host = NULL WHERE merchant_id = $1",
};

/**
 * Closes this cell for the merchant's new sessions, if its configuration is still the one that was copied; otherwise
 * changes nothing and returns false. Creations of all merchants wait for the end of this transaction.
 */
export async function closeCell(
  tx: Tx,
  copied: Configuration,
  { merchantId, toCell }: { merchantId: string; toCell: number },
): Promise<boolean> {
  await lockConfiguration(tx, merchantId);
  if ((await readConfiguration(tx, merchantId)).text !== copied.text) return false;
  await tx.query(lockCreations, []);
  await tx.query(close, [merchantId, toCell]);
  return true;
}

/**
 * Reports whether the merchant has already left this cell for the given one. Throws `state_conflict` if it has left for
 * another, or if it has been in the given one: a cell that it has left never makes new sessions of it.
 */
export async function hasLeft(
  cell: Queryable,
  { merchantId, toCell }: { merchantId: string; toCell: number },
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
