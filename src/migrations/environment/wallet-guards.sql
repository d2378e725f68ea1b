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

-- W7 and W8: what a claim has set never changes, and the customer of a device's number has authenticated.
CREATE FUNCTION app.guard_wallet_session(before record, after record) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF before.wallet IS NOT NULL AND after.wallet IS DISTINCT FROM before.wallet
     OR before.submitted_at IS NOT NULL AND (after.wallet_credential, after.cryptogram_resend) IS DISTINCT FROM (before.wallet_credential, before.cryptogram_resend) THEN
    PERFORM app.refuse('how a wallet pays never changes'); END IF;
  IF after.submitted_at IS NULL OR after.wallet_credential IS NULL OR after.cryptogram_resend IS NULL THEN
    PERFORM app.refuse('a wallet pays with a submission, which has its credential and a rule'); END IF;
  IF after.wallet_credential NOT IN ('PAN','NETWORK_TOKEN') THEN PERFORM app.refuse('a wallet gives a PAN or a NETWORK_TOKEN'); END IF;
  IF after.cryptogram_resend NOT IN ('NOT_SENT','UNANSWERED','DECLINED') THEN PERFORM app.refuse('a second use of a cryptogram follows a rule'); END IF;
  IF after.wallet NOT IN ('apple_pay','google_pay') THEN PERFORM app.refuse('no wallet has such a name'); END IF;
  IF after.wallet_credential = 'NETWORK_TOKEN' AND (after.authentications > 0 OR after.awaiting_since IS NOT NULL) THEN
    PERFORM app.refuse('a device has authenticated its customer, whom nothing else asks'); END IF;
END $$;

-- W6 and W7, of a new attempt with a NETWORK_TOKEN. A network may have seen the cryptogram of every earlier attempt that is not FAILED. Rows
-- that a restore has lost come back whatever they are.
CREATE FUNCTION partitions.guard_token_attempt_rest(after record, resend text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE earlier record;
BEGIN
  IF after.round = 1 OR after.authentication_id IS NOT NULL THEN PERFORM app.refuse('a device''s number is sent without an authentication'); END IF;
  SELECT bool_or(status = 'DECLINED') AS was_declined, bool_or(status = 'UNKNOWN') AS is_unknown, bool_or(status = 'UNKNOWN' AND looked_up_at IS NULL) AS is_unread,
    bool_or(next_action = 'stop') AS is_stopped,
    bool_or(status NOT IN ('FAILED','DECLINED','UNKNOWN')) AS was_held INTO earlier
  FROM partitions.attempt_rest WHERE session_id = after.session_id;
  IF earlier.was_held THEN PERFORM app.refuse('no cryptogram is sent again after a hold'); END IF;
  IF earlier.is_unknown AND coalesce(resend, 'NOT_SENT') = 'NOT_SENT' THEN PERFORM app.refuse('a cryptogram without an answer is sent again only where the rule says so'); END IF;
  IF earlier.is_stopped THEN PERFORM app.refuse('no cryptogram is sent again after a stop'); END IF;
  IF earlier.is_unread THEN PERFORM app.refuse('a gateway that is silent is looked up before a cryptogram is sent again'); END IF;
  IF earlier.was_declined AND resend IS DISTINCT FROM 'DECLINED' THEN PERFORM app.refuse('a declined cryptogram is sent again only where the rule says so'); END IF;
END $$;
