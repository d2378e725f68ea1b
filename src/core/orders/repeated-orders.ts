/** The setting that refuses a second payment of an order, and the orders that it begins with. */

import { setTimeout as pause } from "node:timers/promises";
import type { Queryable, Statement, Transacting, Tx } from "../../platform/database.ts";
import { DomainError } from "../../platform/errors.ts";
import type { MerchantId } from "../../platform/ids.ts";

/** The treatment of a second payment of one order: it is taken with an alert, or refused. */
export type RepeatedOrders = "WARN" | "REFUSE";

const selectSetting: Statement = {
  name: "select_repeated_orders",
  text: `SELECT repeated_orders AS "repeatedOrders" FROM merchant_settings WHERE merchant_id = $1`,
};

/** Returns a merchant's setting. */
export async function loadRepeatedOrders(queryable: Queryable, merchantId: MerchantId): Promise<RepeatedOrders> {
  const [row] = await queryable.query<{ repeatedOrders: RepeatedOrders }>(selectSetting, [merchantId]);
  return row?.repeatedOrders ?? "WARN";
}

const setSetting: Statement = {
  name: "set_repeated_orders",
  text: `
    UPDATE merchant_settings SET repeated_orders_at = CASE WHEN repeated_orders = $2 THEN repeated_orders_at ELSE app.clock() END, repeated_orders = $2
    WHERE merchant_id = $1`,
};
// A merchant of millions of payments has its orders read once.
const noTimeout: Statement = {
  name: "no_timeout_for_orders",
  text: "SELECT set_config('statement_timeout', '0', true)",
};
const fill: Statement = { name: "fill_orders", text: "SELECT app.fill_orders($1)" };

/** Changes a merchant's setting. `fillOrders` follows once it is committed. */
export async function recordRepeatedOrders(
  tx: Tx,
  merchantId: MerchantId,
  repeatedOrders: RepeatedOrders,
): Promise<void> {
  await tx.query(setSetting, [merchantId, repeatedOrders]);
  await fillAll(tx, merchantId);
}

const stillWriting =
  "The setting is saved, and orders that were paid a moment ago may still be missing: a transaction of this database has been writing for seconds. Save the setting again. If that fails too, have the operator end the oldest transaction that pg_stat_activity shows.";

async function fillAll(tx: Tx, merchantId: MerchantId): Promise<void> {
  await tx.query(noTimeout, []);
  await tx.query(fill, [merchantId]);
}

// Selects the writers of this database only: another one on the server, such as one that is being restored, writes no
// payments of this one.
const selectWriters: Statement = {
  name: "select_writers",
  text: `
    SELECT pid || '/' || backend_xid AS id FROM pg_stat_activity
    WHERE datname = current_database() AND backend_xid IS NOT NULL AND pid <> pg_backend_pid()`,
};
// A payment's commits take milliseconds. Saving the setting waits for the longest of all writers, at most ten seconds.
const writersPauseMs = 20;
const looksMax = 500;

/**
 * Adds the orders of payments that have read the earlier setting and were committed after it was changed: waits for
 * every transaction that was writing then. Throws `unavailable` if one of them is open for longer; to be called again
 * then.
 */
export async function fillOrders(database: Transacting, merchantId: MerchantId, looks = looksMax): Promise<void> {
  const readWriters = async () => (await database.query<{ id: string }>(selectWriters, [])).map(({ id }) => id);
  let earlier = await readWriters();
  for (let look = 0; earlier.length > 0; look++) {
    if (look === looks) throw new DomainError("unavailable", stillWriting);
    await pause(writersPauseMs);
    const writers = await readWriters();
    earlier = earlier.filter((id) => writers.includes(id));
  }
  await database.transaction((tx) => fillAll(tx, merchantId));
}
