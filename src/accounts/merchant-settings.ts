/** A merchant's checkout settings in one environment. */

import { idempotencyLifetimeMs } from "../limits.ts";
import type { Queryable, Statement, Tx } from "../platform/database.ts";
import type { MerchantId } from "../platform/ids.ts";
import type { MerchantWallets } from "../platform/wallets.ts";

/** Settings of one merchant in one environment. An empty list of origins means any page in test, and none in live. */
export type MerchantSettings = {
  readonly merchantId: MerchantId;
  /** 300 000 to 86 400 000. */
  readonly sessionLifetimeMs: number;
  readonly checkoutOrigins: readonly string[];
  readonly publishableKey: string;
  /** The default text for card statements, for sessions that name none. */
  readonly statementDescriptor: string | null;
  /** Written by recordWallets alone. */
  readonly wallets?: MerchantWallets | null | undefined;
};

export type MerchantCells = {
  /** The cell in which the merchant's new sessions are made; null if it is this one. */
  readonly movedTo: number | null;
  /** The cells that the merchant has left, which keep its earlier sessions. */
  readonly formerCells: readonly number[];
  /** True while an Idempotency-Key that was used in a cell before the move is still valid. */
  readonly movedLately: boolean;
};

// A move copies a little before it closes the other cell, and is repeated if the configuration has changed meanwhile.
const movedLatelyMs = idempotencyLifetimeMs + 60 * 60_000;

export const cellColumns = `s.moved_to AS "movedTo", s.former_cells AS "formerCells",
      s.moved_here_at IS NOT NULL AND s.moved_here_at > app.clock() - ${movedLatelyMs} * interval '1 ms' AS "movedLately"`;

export const settingsColumns = `s.merchant_id AS "merchantId", s.session_lifetime_ms AS "sessionLifetimeMs",
      s.checkout_origins AS "checkoutOrigins", s.publishable_key AS "publishableKey",
      s.statement_descriptor AS "statementDescriptor", s.wallets`;

// An origin that is left out has to pass the check of Apple Pay's domain file once more when it comes back.
const upsertSettings: Statement = {
  name: "upsert_merchant_settings",
  text: `
    INSERT INTO merchant_settings (merchant_id, session_lifetime_ms, checkout_origins, publishable_key, statement_descriptor)
    VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (merchant_id) DO UPDATE
      SET session_lifetime_ms = EXCLUDED.session_lifetime_ms, checkout_origins = EXCLUDED.checkout_origins,
          publishable_key = EXCLUDED.publishable_key, statement_descriptor = EXCLUDED.statement_descriptor,
          wallets = CASE WHEN merchant_settings.wallets ? 'domains' THEN jsonb_set(merchant_settings.wallets, '{domains}', (
            SELECT coalesce(jsonb_object_agg(d.key, d.value), '{}') FROM jsonb_each(merchant_settings.wallets->'domains') d
            WHERE d.key = ANY (EXCLUDED.checkout_origins))) ELSE merchant_settings.wallets END`,
};

export async function recordSettings(tx: Tx, settings: MerchantSettings): Promise<void> {
  const { merchantId, sessionLifetimeMs, checkoutOrigins, publishableKey, statementDescriptor } = settings;
  const values = [merchantId, sessionLifetimeMs, checkoutOrigins, publishableKey, statementDescriptor];
  await tx.query(upsertSettings, values);
}

const selectSettings: Statement = {
  name: "select_merchant_settings",
  text: `
    SELECT ${settingsColumns}, ${cellColumns}
    FROM merchant_settings s WHERE s.merchant_id = $1`,
};

/** Returns the settings of a merchant named by a caller, or undefined if there is none in this cell. */
export async function findSettings(
  database: Queryable,
  merchantId: MerchantId,
): Promise<(MerchantSettings & MerchantCells) | undefined> {
  const [settings] = await database.query<MerchantSettings & MerchantCells>(selectSettings, [merchantId]);
  return settings;
}

/** Returns a merchant's settings. Every merchant has them from its creation on, so their absence is a bug. */
export async function loadSettings(
  database: Queryable,
  merchantId: MerchantId,
): Promise<MerchantSettings & MerchantCells> {
  const settings = await findSettings(database, merchantId);
  if (settings === undefined) throw new Error("a merchant without settings");
  return settings;
}

const lockRow: Statement = {
  name: "lock_merchant_settings",
  text: "SELECT 1 FROM merchant_settings WHERE merchant_id = $1 FOR UPDATE",
};

/** Serializes changes of one merchant's configuration: until this transaction ends, no other has the lock. */
export async function lockConfiguration(tx: Tx, merchantId: MerchantId): Promise<void> {
  await tx.query(lockRow, [merchantId]);
}
