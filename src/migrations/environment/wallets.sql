-- Payments by Apple Pay and Google Pay. A card payment writes none of these columns. docs/safety.md has the rules as W1 to W9.

ALTER TABLE payment_session
  -- apple_pay or google_pay. Null for a card, and where the vault could not say.
  ADD COLUMN wallet text,
  -- PAN: a card without a security code. NETWORK_TOKEN: a device's number with a cryptogram that a network accepts once.
  ADD COLUMN wallet_credential text,
  -- What may follow an attempt with a NETWORK_TOKEN, as the routing rule had it at the claim: NOT_SENT, UNANSWERED or DECLINED.
  ADD COLUMN cryptogram_resend text;
-- Payments by wallets alone are in it.
CREATE INDEX payment_session_of_wallet ON payment_session (merchant_id, wallet, id) WHERE wallet IS NOT NULL;
