/** Merchants of both environments. Their configuration is in each environment's own database. */
import type { Queryable, Statement } from "../platform/database.ts";

/** A merchant as both environments know it. */
export type Merchant = { readonly id: string; readonly name: string };

const insertMerchant: Statement = {
  name: "insert_merchant",
  text: "INSERT INTO merchant (id, name) VALUES ($1, $2)",
};

/** Creates a merchant; durable on return. */
export async function createMerchant(accounts: Queryable, merchant: Merchant): Promise<void> {
  await accounts.query(insertMerchant, [merchant.id, merchant.name]);
}

const selectMerchant: Statement = { name: "select_merchant", text: "SELECT id, name FROM merchant WHERE id = $1" };

/** Returns the merchant with this id, or undefined. */
export async function findMerchant(accounts: Queryable, id: string): Promise<Merchant | undefined> {
  const [row] = await accounts.query<Merchant>(selectMerchant, [id]);
  return row;
}

const selectMerchants: Statement = { name: "select_merchants", text: "SELECT id, name FROM merchant ORDER BY id" };

/** Returns every merchant of the installation, oldest first. */
export async function listMerchants(accounts: Queryable): Promise<Merchant[]> {
  return accounts.query<Merchant>(selectMerchants, []);
}
