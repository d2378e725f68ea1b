/** A merchant's checkout settings in one environment. */
import type { Queryable, Statement, Tx } from "../platform/database.ts";

/** Settings of one merchant in one environment. An empty list of origins means any page in test, and none in live. */
export type MerchantSettings = {
  readonly merchantId: string;
  /** 300 000 to 86 400 000. */
  readonly sessionLifetimeMs: number;
  readonly checkoutOrigins: readonly string[];
  readonly publishableKey: string;
};

const upsertSettings: Statement = {
  name: "upsert_merchant_settings",
  text: `
    INSERT INTO merchant_settings (merchant_id, session_lifetime_ms, checkout_origins, publishable_key)
    VALUES ($1, $2, $3, $4)
    ON CONFLICT (merchant_id) DO UPDATE
      SET session_lifetime_ms = EXCLUDED.session_lifetime_ms, checkout_origins = EXCLUDED.checkout_origins,
          publishable_key = EXCLUDED.publishable_key`,
};

/** Replaces a merchant's settings. */
export async function recordSettings(tx: Tx, settings: MerchantSettings): Promise<void> {
  const { merchantId, sessionLifetimeMs, checkoutOrigins, publishableKey } = settings;
  await tx.query(upsertSettings, [merchantId, sessionLifetimeMs, checkoutOrigins, publishableKey]);
}

const selectSettings: Statement = {
  name: "select_merchant_settings",
  text: `
    SELECT merchant_id AS "merchantId", session_lifetime_ms AS "sessionLifetimeMs",
      checkout_origins AS "checkoutOrigins", publishable_key AS "publishableKey"
    FROM merchant_settings WHERE merchant_id = $1`,
};

/** Returns the settings of a merchant named by a caller, or undefined if there is none in this environment. */
export async function findSettings(database: Queryable, merchantId: string): Promise<MerchantSettings | undefined> {
  const [settings] = await database.query<MerchantSettings>(selectSettings, [merchantId]);
  return settings;
}

/** Returns a merchant's settings. Every merchant has them from its creation on, so their absence is a bug. */
export async function loadSettings(database: Queryable, merchantId: string): Promise<MerchantSettings> {
  const settings = await findSettings(database, merchantId);
  if (settings === undefined) throw new Error("a merchant without settings");
  return settings;
}

const lockRow: Statement = {
  name: "lock_merchant_settings",
  text: "SELECT 1 FROM merchant_settings WHERE merchant_id = $1 FOR UPDATE",
};

/** Serializes changes of one merchant's configuration: until this transaction ends, no other has the lock. */
export async function lockConfiguration(tx: Tx, merchantId: string): Promise<void> {
  await tx.query(lockRow, [merchantId]);
}
