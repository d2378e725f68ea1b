-- The rules of payments by wallets. docs/safety.md has them as W6 to W8. The guards of sessions and attempts (payment-guards.sql) call these
-- functions for such payments only.

-- W8: a claim sets the credential and the rule for its second use.
CREATE FUNCTION app.require_wallet(claimed payment_session) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF (claimed.wallet_credential IN ('PAN','NETWORK_TOKEN')) IS NOT TRUE THEN PERFORM app.refuse('a wallet gives a PAN or a NETWORK_TOKEN'); END IF;
  IF (claimed.cryptogram_resend IN ('NOT_SENT','UNANSWERED','DECLINED')) IS NOT TRUE THEN
    PERFORM app.refuse('a second use of a cryptogram follows a rule'); END IF;
  IF claimed.wallet NOT IN ('apple_pay','google_pay') THEN PERFORM app.refuse('no wallet has such a name'); END IF;
END $$;
