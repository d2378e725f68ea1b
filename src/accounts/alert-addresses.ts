/**
 * The addresses for a merchant's alerts, in one environment. Each gets only a request to confirm it until it has
 * confirmed.
 */

import type { Queryable, Statement, Tx } from "../platform/database.ts";
import type { MerchantId } from "../platform/ids.ts";

/** A merchant's addresses as they were set, those of them that have not confirmed it, and how often some were removed. */
type AlertAddresses = {
  readonly addresses: readonly string[];
  readonly unconfirmed: readonly string[];
  readonly removals: number;
};

const columns = `s.alert_addresses AS addresses, s.alert_address_removals AS "removals",
  ARRAY(SELECT each FROM unnest(s.alert_addresses) AS each WHERE each <> ALL (s.confirmed_addresses)) AS unconfirmed`;

const selectAddresses: Statement = {
  name: "select_alert_addresses",
  text: `SELECT ${columns} FROM merchant_settings s WHERE s.merchant_id = $1`,
};

export async function loadAlertAddresses(queryable: Queryable, merchantId: MerchantId): Promise<AlertAddresses> {
  const [row] = await queryable.query<AlertAddresses>(selectAddresses, [merchantId]);
  return row ?? { addresses: [], unconfirmed: [], removals: 0 };
}

const replaceAddresses: Statement = {
  name: "replace_alert_addresses",
  text: `UPDATE merchant_settings s SET alert_addresses = $2,
           alert_address_removals = s.alert_address_removals + (NOT s.alert_addresses <@ $2)::int,
           confirmed_addresses = ARRAY(SELECT each FROM unnest(s.confirmed_addresses) AS each WHERE each = ANY ($2))
         WHERE s.merchant_id = $1 RETURNING ${columns}`,
};

/**
 * Replaces a merchant's addresses; those that stay need no new confirmation. Every merchant has settings from its
 * creation on, so their absence is a bug.
 */
export async function recordAlertAddresses(
  tx: Tx,
  merchantId: MerchantId,
  addresses: readonly string[],
): Promise<AlertAddresses> {
  const [row] = await tx.query<AlertAddresses>(replaceAddresses, [merchantId, addresses]);
  if (row === undefined) throw new Error("a merchant without settings");
  return row;
}

const confirm: Statement = {
  name: "confirm_alert_address",
  text: `UPDATE merchant_settings SET confirmed_addresses = confirmed_addresses || $2::text
         WHERE merchant_id = $1 AND moved_to IS NULL AND $2 = ANY (alert_addresses) AND $2 <> ALL (confirmed_addresses)
           AND alert_address_removals = $3
         RETURNING 1`,
};

/**
 * Confirms an address; false if an address was removed since the confirmation was requested, or if it is confirmed
 * already.
 */
export async function confirmAlertAddress(
  tx: Tx,
  asked: { readonly merchantId: MerchantId; readonly address: string; readonly removals: number },
): Promise<boolean> {
  return (await tx.query(confirm, [asked.merchantId, asked.address, asked.removals])).length > 0;
}

const dropAddress: Statement = {
  name: "drop_alert_address",
  text: `UPDATE merchant_settings s
         SET alert_addresses = ARRAY(SELECT each FROM unnest(s.alert_addresses) AS each WHERE lower(each) <> lower($2)),
           alert_address_removals = s.alert_address_removals + 1,
           confirmed_addresses =
             ARRAY(SELECT each FROM unnest(s.confirmed_addresses) AS each WHERE lower(each) <> lower($2))
         FROM merchant_settings old
         WHERE s.merchant_id = $1 AND old.merchant_id = $1 AND s.moved_to IS NULL
           AND EXISTS (SELECT FROM unnest(s.alert_addresses) AS each WHERE lower(each) = lower($2))
         RETURNING old.alert_addresses AS before, s.alert_addresses AS after`,
};

/** Takes one address off a merchant's list. Returns the list before and after, or undefined if it was not on it. */
export async function dropAlertAddress(
  tx: Tx,
  merchantId: MerchantId,
  address: string,
): Promise<{ readonly before: readonly string[]; readonly after: readonly string[] } | undefined> {
  const [row] = await tx.query<{ before: string[]; after: string[] }>(dropAddress, [merchantId, address]);
  return row;
}
