/** The two statements of a creation and the one of a repeat, for a peer and for the database's limit. */

export type SessionRow = { readonly id: string; readonly secretVersion: number; readonly expiresAt: Date };

export const selectKey = {
  name: "peer_select_key",
  text: `
    SELECT k.kind, s.merchant_id AS "merchantId", s.session_lifetime_ms AS "sessionLifetimeMs",
      s.checkout_origins AS "checkoutOrigins", s.publishable_key AS "publishableKey"
    FROM api_key k JOIN merchant_settings s USING (merchant_id)
    WHERE k.hash = $1 AND k.revoked_at IS NULL`,
};

/** Inserts session and Idempotency-Key together; returns no row if the key is used. */
export const insertSession = {
  name: "peer_insert_session",
  text: `
    WITH claimed AS (
      INSERT INTO idempotency AS i (merchant_id, key, request_hash, session_id, answer_sealed, expires_at)
      VALUES ($2, $9, $10, $1, $11, app.clock() + $12 * interval '1 ms')
      ON CONFLICT (merchant_id, key) DO UPDATE
        SET request_hash = EXCLUDED.request_hash, session_id = EXCLUDED.session_id,
            answer_sealed = EXCLUDED.answer_sealed, expires_at = EXCLUDED.expires_at
        WHERE i.expires_at <= app.clock()
      RETURNING session_id
    )
    INSERT INTO payment_session
      (id, merchant_id, amount_minor, currency, order_ref, customer_email, secret_version, expires_at)
    SELECT $1, $2, $3, $4, $5, $6, $7, app.clock() + $8 * interval '1 ms' FROM claimed
    RETURNING id, secret_version AS "secretVersion", expires_at AS "expiresAt"`,
};

export const selectSession = {
  name: "peer_select_session",
  text: `
    SELECT s.id, s.secret_version AS "secretVersion", s.expires_at AS "expiresAt", i.request_hash AS "requestHash",
      i.answer_sealed AS "answerSealed"
    FROM idempotency i JOIN payment_session s ON s.id = i.session_id
    WHERE i.merchant_id = $1 AND i.key = $2 AND i.expires_at > app.clock()`,
};
