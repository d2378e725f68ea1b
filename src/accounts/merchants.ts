/** Merchants of both environments. Their configuration is in each environment's own database. */

import { firstCell } from "../platform/cells.ts";
import type { Queryable, Statement, Tx } from "../platform/database.ts";
import type { MerchantId } from "../platform/ids.ts";

/** A merchant as both environments know it, and the cell of each in which its new sessions are made. */
export type Merchant = {
  readonly id: MerchantId;
  readonly name: string;
  readonly cells: Readonly<Record<"test" | "live", number>>;
};

type NewMerchant = Pick<Merchant, "id" | "name"> & {
  readonly cells?: Partial<Merchant["cells"]>;
};

const insertMerchant: Statement = {
  name: "insert_merchant",
  text: "INSERT INTO merchant (id, name, test_cell, live_cell) VALUES ($1, $2, $3, $4)",
};

/** Creates a merchant; durable on return. */
export async function createMerchant(accounts: Queryable, { id, name, cells }: NewMerchant): Promise<void> {
  await accounts.query(insertMerchant, [id, name, cells?.test ?? firstCell, cells?.live ?? firstCell]);
}

const updateCells: Statement = {
  name: "update_merchant_cell",
  text: `
    UPDATE merchant SET test_cell = CASE $2 WHEN 'test' THEN $3 ELSE test_cell END,
      live_cell = CASE $2 WHEN 'live' THEN $3 ELSE live_cell END
    WHERE id = $1`,
};

/** Records the cell of an environment in which a merchant's new sessions are made from now on. */
export async function recordCell(
  tx: Tx,
  moved: { merchantId: MerchantId; environment: "test" | "live"; cell: number },
): Promise<void> {
  await tx.query(updateCells, [moved.merchantId, moved.environment, moved.cell]);
}

const columns = `id, name, json_build_object('test', test_cell, 'live', live_cell) AS cells`;

const selectMerchant: Statement = { name: "select_merchant", text: `SELECT ${columns} FROM merchant WHERE id = $1` };

export async function findMerchant(accounts: Queryable, id: MerchantId): Promise<Merchant | undefined> {
  const [row] = await accounts.query<Merchant>(selectMerchant, [id]);
  return row;
}

const selectMerchants: Statement = { name: "select_merchants", text: `SELECT ${columns} FROM merchant ORDER BY id` };

export async function listMerchants(accounts: Queryable): Promise<Merchant[]> {
  return accounts.query<Merchant>(selectMerchants, []);
}
