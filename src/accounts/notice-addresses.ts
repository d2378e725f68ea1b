/** Where a merchant wants to be told of trouble with its endpoints, in one environment. */
import type { Queryable, Statement, Tx } from "../platform/database.ts";

const selectAddresses: Statement = {
  name: "select_notice_addresses",
  text: "SELECT notice_addresses AS addresses FROM merchant_settings WHERE merchant_id = $1",
};

/** A merchant's addresses; none where nobody has named any. */
export async function loadNoticeAddresses(queryable: Queryable, merchantId: string): Promise<readonly string[]> {
  const [row] = await queryable.query<{ addresses: string[] }>(selectAddresses, [merchantId]);
  return row?.addresses ?? [];
}

const replaceAddresses: Statement = {
  name: "replace_notice_addresses",
  text: "UPDATE merchant_settings SET notice_addresses = $2 WHERE merchant_id = $1 RETURNING 1",
};

/** Replaces a merchant's addresses. Every merchant has settings from its creation on, so their absence is a bug. */
export async function recordNoticeAddresses(tx: Tx, merchantId: string, addresses: readonly string[]): Promise<void> {
  const rows = await tx.query(replaceAddresses, [merchantId, addresses]);
  if (rows.length === 0) throw new Error("a merchant without settings");
}
