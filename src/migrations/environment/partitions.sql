-- Sessions, attempts, events, deliveries and the delivery log, with a partition of each for a month: no index grows forever,
-- and old rows are removed by dropping tables.
--
-- All that belongs to a session lies in one set: the eleven tables of one range of session ids, whose first 48 bits are a time
-- (RFC 9562, 5.7). Foreign keys between them are made within each set, because one over the whole tables would keep any
-- partition from being dropped. Every set has what the set `rest` has, so that a wall is written down once.
--
-- A statement over a whole table locks and prepares every partition, even if it reads only one: with 84 months that took longer
-- than anything else of a payment. So the guards of a set name the tables of their own set, and so do the service's statements
-- about one session (src/platform/partition-names.ts).

-- Ids of this moment and later ones are not below it, those of earlier ones are.
CREATE FUNCTION app.first_id_at(moment timestamptz) RETURNS uuid LANGUAGE sql STABLE AS $$
  SELECT rpad(lpad(to_hex(floor(extract(epoch FROM moment) * 1000)::bigint), 12, '0'), 32, '0')::uuid $$;

-- In public, default privileges would let the runtime role write them.
CREATE TABLE app.partitioned (
  parent     text PRIMARY KEY,
  key_column text NOT NULL,
  -- What is created, kept and dropped together.
  kind       text NOT NULL,
  place      int NOT NULL UNIQUE
);
INSERT INTO app.partitioned VALUES
  ('payment_session', 'id', 'payments', 1), ('attempt', 'session_id', 'payments', 2),
  ('outbox_event', 'session_id', 'payments', 3), ('delivery', 'session_id', 'payments', 4),
  ('delivery_attempt', 'event_id', 'delivery_log', 5), ('authentication', 'session_id', 'payments', 6), ('refund', 'session_id', 'payments', 7),
  ('stored_payment', 'session_id', 'payments', 8), ('dispute', 'session_id', 'payments', 9), ('dispute_movement', 'session_id', 'payments', 10),
  ('dispute_response', 'session_id', 'payments', 11);
CREATE TABLE app.retention (
  kind text PRIMARY KEY,
  -- Minimum time for which rows are kept; null: forever. A dispute may come up to 540 days after the payment.
  keep interval CHECK (keep >= CASE kind WHEN 'payments' THEN interval '18 months' ELSE interval '30 days' END)
);
INSERT INTO app.retention (kind) VALUES ('payments'), ('delivery_log');
GRANT SELECT ON app.partitioned, app.retention TO PUBLIC;

-- Creates on the table the same index as index_id on another.
CREATE FUNCTION app.copy_index(index_id oid, onto text, own_name text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  rule text := (SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conindid = index_id AND contype IN ('p','u'));
BEGIN
  IF rule IS NOT NULL THEN
    EXECUTE format('ALTER TABLE %s ADD CONSTRAINT %I %s', onto, own_name, rule);
  ELSE
    EXECUTE regexp_replace(pg_get_indexdef(index_id), ' INDEX [^ ]+ ON (ONLY )?[^ ]+ ', format(' INDEX %I ON %s ', own_name, onto));
  END IF;
END $$;

-- Makes or replaces the functions of a set after those of another. A migration that changes one of the set `rest` calls it for every
-- other set.
CREATE FUNCTION app.copy_functions(model text, suffix text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE definition text;
BEGIN
  FOR definition IN
    SELECT replace(pg_get_functiondef(oid), model, suffix) FROM pg_proc
    WHERE pronamespace = 'partitions'::regnamespace AND right(proname, length(model)) = model
  LOOP
    EXECUTE definition;
  END LOOP;
END $$;

-- Gives the tables of a set the privileges of the whole ones.
CREATE FUNCTION app.grant_as_whole(of_kind text, suffix text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE statement text;
BEGIN
  FOR statement IN
    SELECT format('REVOKE ALL ON partitions.%2$I FROM %3$s; GRANT %1$s ON partitions.%2$I TO %3$s',
      string_agg(a.privilege_type, ', '), p.parent || suffix, a.grantee::regrole)
    FROM app.partitioned p JOIN pg_class c ON c.oid = to_regclass('public.' || p.parent), aclexplode(c.relacl) a
    WHERE p.kind = of_kind AND a.grantee NOT IN (c.relowner, 0) GROUP BY p.parent, a.grantee
  LOOP
    EXECUTE statement;
  END LOOP;
END $$;

-- Makes the tables of a set after those of another, beside the whole ones, and attaches them. Waits for writers.
CREATE FUNCTION app.make_set(of_kind text, model text, suffix text, bounds text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE one record;
BEGIN
  FOR one IN SELECT parent, 'partitions.' || parent || suffix AS made FROM app.partitioned WHERE kind = of_kind ORDER BY place LOOP
    EXECUTE format('CREATE TABLE %s (LIKE public.%I INCLUDING ALL EXCLUDING INDEXES)', one.made, one.parent);
    PERFORM app.copy_index(i.indexrelid, one.made, regexp_replace(x.relname, model || '$', '') || suffix)
    FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid
    WHERE i.indrelid = to_regclass('partitions.' || one.parent || model) ORDER BY i.indisprimary DESC, x.relname;
  END LOOP;
  FOR one IN
    SELECT p.parent, c.conname, replace(pg_get_constraintdef(c.oid), r.relname, regexp_replace(r.relname, model || '$', suffix)) AS rule
    FROM app.partitioned p JOIN pg_constraint c ON c.conrelid = to_regclass('partitions.' || p.parent || model)
      JOIN pg_class r ON r.oid = c.confrelid
    WHERE p.kind = of_kind AND c.contype = 'f' AND c.conparentid = 0 ORDER BY p.place, c.conname
  LOOP
    EXECUTE format('ALTER TABLE partitions.%I ADD CONSTRAINT %I %s', one.parent || suffix, one.conname, one.rule);
  END LOOP;
  IF of_kind = 'payments' THEN PERFORM app.copy_functions(model, suffix); END IF;
  FOR one IN
    SELECT replace(pg_get_triggerdef(t.oid), model, suffix) AS rule
    FROM app.partitioned p JOIN pg_trigger t ON t.tgrelid = to_regclass('partitions.' || p.parent || model)
    WHERE p.kind = of_kind AND NOT t.tgisinternal AND t.tgparentid = 0 ORDER BY p.place, t.tgname
  LOOP
    EXECUTE one.rule;
  END LOOP;
  FOR one IN SELECT parent FROM app.partitioned WHERE kind = of_kind ORDER BY place LOOP
    EXECUTE format('ALTER TABLE public.%I ATTACH PARTITION partitions.%I %s', one.parent, one.parent || suffix, bounds);
  END LOOP;
  PERFORM app.grant_as_whole(of_kind, suffix);
END $$;

-- The set `rest` receives the rows that belong to no month's set, and is the model of every other set.
DO $$
DECLARE one record;
BEGIN
  FOR one IN SELECT parent, 'partitions.' || parent || '_rest' AS made FROM app.partitioned ORDER BY place LOOP
    EXECUTE format('CREATE TABLE %s (LIKE public.%I INCLUDING ALL EXCLUDING INDEXES)', one.made, one.parent);
    PERFORM app.copy_index(i.indexrelid, one.made, x.relname || '_rest')
    FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid
    WHERE i.indrelid = to_regclass('public.' || one.parent) ORDER BY i.indisprimary DESC, x.relname;
  END LOOP;
END $$;

-- An index can be unique over all partitions only where it contains the column that they are cut by. This one is unique in its
-- set; app.check_reference() looks into the others.
CREATE UNIQUE INDEX attempt_gateway_reference_rest ON partitions.attempt_rest (connection_id, gateway_reference)
  WHERE gateway_reference IS NOT NULL;

-- Two refunds of one reference would be the same money.
CREATE UNIQUE INDEX refund_gateway_reference_rest ON partitions.refund_rest (connection_id, gateway_reference)
  WHERE gateway_reference IS NOT NULL;

-- Two rows for one dispute would hold its money twice. A warning may bear the reference of the dispute that follows.
CREATE UNIQUE INDEX dispute_gateway_reference_rest ON partitions.dispute_rest (connection_id, gateway_reference, is_warning);

-- An attempt is over exactly its session's amount.
ALTER TABLE partitions.attempt_rest ADD CONSTRAINT attempt_session_id_amount_minor_currency_fkey
  FOREIGN KEY (session_id, amount_minor, currency) REFERENCES partitions.payment_session_rest (id, amount_minor, currency);
-- The winner holds or is captured, SUCCEEDED names a captured attempt, and neither can leave that state again. The winner is named
-- before its attempt is changed, so that the session is locked first: hence the check at the commit.
ALTER TABLE partitions.payment_session_rest
  ADD CONSTRAINT payment_session_winner FOREIGN KEY (id, winner_attempt_id, pinned)
    REFERENCES partitions.attempt_rest (session_id, id, holds) DEFERRABLE INITIALLY DEFERRED,
  ADD CONSTRAINT payment_session_captured FOREIGN KEY (id, captured_attempt_id, pinned)
    REFERENCES partitions.attempt_rest (session_id, id, captured);
ALTER TABLE partitions.authentication_rest ADD CONSTRAINT authentication_session_id_attempt_id_fkey
  FOREIGN KEY (session_id, attempt_id) REFERENCES partitions.attempt_rest (session_id, id);
-- A refund is of an attempt that is captured, and stays so.
ALTER TABLE partitions.refund_rest ADD CONSTRAINT refund_session_id_attempt_id_captured_fkey
  FOREIGN KEY (session_id, attempt_id, captured) REFERENCES partitions.attempt_rest (session_id, id, captured);
-- So is a dispute.
ALTER TABLE partitions.dispute_rest ADD CONSTRAINT dispute_session_id_attempt_id_captured_fkey
  FOREIGN KEY (session_id, attempt_id, captured) REFERENCES partitions.attempt_rest (session_id, id, captured);
ALTER TABLE partitions.dispute_movement_rest ADD CONSTRAINT dispute_movement_session_id_dispute_id_fkey
  FOREIGN KEY (session_id, dispute_id) REFERENCES partitions.dispute_rest (session_id, id);
ALTER TABLE partitions.dispute_response_rest ADD CONSTRAINT dispute_response_session_id_dispute_id_fkey
  FOREIGN KEY (session_id, dispute_id) REFERENCES partitions.dispute_rest (session_id, id);
-- A payment with a stored card is over exactly its session's amount.
ALTER TABLE partitions.stored_payment_rest ADD CONSTRAINT stored_payment_session_id_amount_minor_currency_fkey
  FOREIGN KEY (session_id, amount_minor, currency) REFERENCES partitions.payment_session_rest (id, amount_minor, currency);
ALTER TABLE partitions.outbox_event_rest ADD CONSTRAINT outbox_event_session_id_fkey
  FOREIGN KEY (session_id) REFERENCES partitions.payment_session_rest (id);
ALTER TABLE partitions.delivery_rest ADD CONSTRAINT delivery_session_id_event_id_fkey
  FOREIGN KEY (session_id, event_id) REFERENCES partitions.outbox_event_rest (session_id, id);

-- payment-guards.sql, authentication-guards.sql, refund-guards.sql and dispute-guards.sql. The functions of payment-functions.sql check their own changes: for
-- them alone the current user is another one than the user of the connection, and the search_path has the partitions. Both are fixed by
-- the function, so that no caller can pass for one.
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON partitions.payment_session_rest FOR EACH ROW
  WHEN (current_user = session_user OR current_setting('search_path') <> 'public, partitions, pg_temp') EXECUTE FUNCTION partitions.guard_session_rest();
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON partitions.attempt_rest FOR EACH ROW
  WHEN (current_user = session_user OR current_setting('search_path') <> 'public, partitions, pg_temp') EXECUTE FUNCTION partitions.guard_attempt_rest();
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON partitions.authentication_rest FOR EACH ROW
  EXECUTE FUNCTION partitions.guard_authentication_rest();
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON partitions.refund_rest FOR EACH ROW EXECUTE FUNCTION partitions.guard_refund_rest();
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON partitions.dispute_rest FOR EACH ROW EXECUTE FUNCTION partitions.guard_dispute_rest();
CREATE TRIGGER guard BEFORE INSERT OR UPDATE OR DELETE ON partitions.dispute_movement_rest FOR EACH ROW EXECUTE FUNCTION partitions.guard_dispute_movement_rest();
CREATE TRIGGER guard BEFORE INSERT OR UPDATE OR DELETE ON partitions.dispute_response_rest FOR EACH ROW EXECUTE FUNCTION partitions.guard_dispute_response_rest();
CREATE TRIGGER recount_disputes AFTER INSERT OR UPDATE OF status ON partitions.dispute_response_rest FOR EACH ROW EXECUTE FUNCTION partitions.recount_moved_dispute_rest();
CREATE TRIGGER recount_disputes AFTER INSERT ON partitions.dispute_movement_rest FOR EACH ROW EXECUTE FUNCTION partitions.recount_moved_dispute_rest();
CREATE TRIGGER recount_disputes AFTER INSERT OR UPDATE OF status, dispute_id ON partitions.refund_rest FOR EACH ROW
  WHEN (NEW.status = 'FAILED' OR NEW.sends = 0 AND NEW.status <> 'REQUESTED') EXECUTE FUNCTION partitions.recount_disputes_rest();
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON partitions.stored_payment_rest FOR EACH ROW EXECUTE FUNCTION partitions.guard_stored_payment_rest();
CREATE CONSTRAINT TRIGGER whole AFTER UPDATE ON partitions.payment_session_rest DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (current_user = session_user OR current_setting('search_path') <> 'public, partitions, pg_temp') EXECUTE FUNCTION partitions.check_whole_session_rest();
CREATE CONSTRAINT TRIGGER whole AFTER INSERT OR UPDATE ON partitions.attempt_rest DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (current_user = session_user OR current_setting('search_path') <> 'public, partitions, pg_temp') EXECUTE FUNCTION partitions.check_whole_attempt_rest();
CREATE CONSTRAINT TRIGGER whole AFTER INSERT OR UPDATE ON partitions.authentication_rest DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  EXECUTE FUNCTION partitions.check_awaiting_row_rest();

CREATE CONSTRAINT TRIGGER update_order AFTER INSERT OR UPDATE ON partitions.refund_rest DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  EXECUTE FUNCTION partitions.update_order_of_refund_rest();

ALTER TABLE payment_session ATTACH PARTITION partitions.payment_session_rest DEFAULT;
ALTER TABLE attempt ATTACH PARTITION partitions.attempt_rest DEFAULT;
ALTER TABLE outbox_event ATTACH PARTITION partitions.outbox_event_rest DEFAULT;
ALTER TABLE delivery ATTACH PARTITION partitions.delivery_rest DEFAULT;
ALTER TABLE delivery_attempt ATTACH PARTITION partitions.delivery_attempt_rest DEFAULT;
ALTER TABLE authentication ATTACH PARTITION partitions.authentication_rest DEFAULT;
ALTER TABLE refund ATTACH PARTITION partitions.refund_rest DEFAULT;
ALTER TABLE dispute ATTACH PARTITION partitions.dispute_rest DEFAULT;
ALTER TABLE dispute_movement ATTACH PARTITION partitions.dispute_movement_rest DEFAULT;
ALTER TABLE dispute_response ATTACH PARTITION partitions.dispute_response_rest DEFAULT;
ALTER TABLE stored_payment ATTACH PARTITION partitions.stored_payment_rest DEFAULT;
