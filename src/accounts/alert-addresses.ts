/** The addresses for a merchant's endpoint alerts, in one environment. */
import type { Queryable, Statement, Tx } from "../platform/database.ts";

const selectAddresses: Statement = {
  name: "select_alert_addresses",
  text: "SELECT alert_addresses AS addresses FROM merchant_settings WHERE merchant_id = $1",
};

/** Returns a merchant's addresses; empty if none are set. */
export async function loadAlertAddresses(queryable: Queryable, merchantId: string): Promise<readonly string[]> {
  const [row] = await queryable.query<{ addresses: string[] }>(selectAddresses, [merchantId]);
  return row?.addresses ?? [];
}

const replaceAddresses: Statement = {
  name: "replace_alert_addresses",
  text: "UPDATE merchant_settings SET alert_addresses = $2 WHERE merchant_id = $1 RETURNING 1",
};

/** Replaces a merchant's addresses. Every merchant has settings from its creation on, so their absence is a bug. */
export async function recordAlertAddresses(tx: Tx, merchantId: string, addresses: readonly string[]): Promise<void> {
  const rows = await tx.query(replaceAddresses, [merchantId, addresses]);
  if (rows.length === 0) throw new Error("a merchant without settings");
}

const dropAddress: Statement = {
  name: "drop_alert_address",
  text: `UPDATE merchant_settings s
         SET alert_addresses = ARRAY(SELECT each FROM unnest(s.alert_addresses) AS each WHERE lower(each) <> lower($2))
         FROM merchant_settings old
         WHERE s.merchant_id = $1 AND old.merchant_id = $1 AND s.moved_to IS NULL
           AND EXISTS (SELECT FROM unnest(s.alert_addresses) AS each WHERE lower(each) = lower($2))
         RETURNING old.alert_addresses AS before, s.alert_addresses AS after`,
};

/** Takes one address off a merchant's list. Returns the list before and after, or undefined if it was not on it. */
export async function dropAlertAddress(
  tx: Tx,
  merchantId: string,
  address: string,
): Promise<{ readonly before: readonly string[]; readonly after: readonly string[] } | undefined> {
  const [row] = await tx.query<{ before: string[]; after: string[] }>(dropAddress, [merchantId, address]);
  return row;
}
