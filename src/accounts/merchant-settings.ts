/** What a merchant has set for its checkouts in one environment. */
import type { Statement, Tx } from "../platform/database.ts";

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
