-- Sessions, attempts, events, deliveries and the delivery log, with a partition of each for a month: no index grows forever,
-- and old rows are removed by dropping tables.
--
-- All that belongs to a session lies in one set: the seven tables of one range of session ids, whose first 48 bits are a time
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
  ('delivery_attempt', 'event_id', 'delivery_log', 5), ('authentication', 'session_id', 'payments', 6), ('refund', 'session_id', 'payments', 7);
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

-- Makes or replaces the guards of a set after those of another. A migration that changes a guard of the set `rest` calls it for
-- every other set.
CREATE FUNCTION app.copy_guards(model text, suffix text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE definition text;
BEGIN
  FOR definition IN
    SELECT replace(pg_get_functiondef(oid), model, suffix) FROM pg_proc
    WHERE pronamespace = 'partitions'::regnamespace AND right(proname, length(model)) = model
  LOOP
    EXECUTE definition;
  END LOOP;
END $$;

-- Makes the tables of a set after those of another, beside the whole ones, and attaches them. Waits for writers.
CREATE FUNCTION app.make_set(of_kind text, model text, suffix text, bounds text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE one record;
BEGIN
  IF of_kind = 'payments' THEN PERFORM app.copy_guards(model, suffix); END IF;
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
ALTER TABLE partitions.outbox_event_rest ADD CONSTRAINT outbox_event_session_id_fkey
  FOREIGN KEY (session_id) REFERENCES partitions.payment_session_rest (id);
ALTER TABLE partitions.delivery_rest ADD CONSTRAINT delivery_session_id_event_id_fkey
  FOREIGN KEY (session_id, event_id) REFERENCES partitions.outbox_event_rest (session_id, id);

-- payment-guards.sql, authentication-guards.sql and refund-guards.sql. The functions of payment-functions.sql check their own changes:
-- they alone make the current user another one than the user of the connection, whatever role that is.
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON partitions.payment_session_rest FOR EACH ROW
  WHEN (current_user = session_user) EXECUTE FUNCTION partitions.guard_session_rest();
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON partitions.attempt_rest FOR EACH ROW
  WHEN (current_user = session_user) EXECUTE FUNCTION partitions.guard_attempt_rest();
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON partitions.authentication_rest FOR EACH ROW
  EXECUTE FUNCTION partitions.guard_authentication_rest();
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON partitions.refund_rest FOR EACH ROW EXECUTE FUNCTION partitions.guard_refund_rest();
CREATE CONSTRAINT TRIGGER whole AFTER UPDATE ON partitions.payment_session_rest DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (current_user = session_user) EXECUTE FUNCTION partitions.check_whole_session_rest();
CREATE CONSTRAINT TRIGGER whole AFTER INSERT OR UPDATE ON partitions.attempt_rest DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (current_user = session_user) EXECUTE FUNCTION partitions.check_whole_attempt_rest();
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

-- The monthly sets that there are, by their first moments.
CREATE VIEW app.partition_sets AS
  SELECT p.kind, to_date(right(c.relname, 7), 'YYYY_MM')::timestamp AT TIME ZONE 'UTC' AS from_at,
    (to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month')::timestamp AT TIME ZONE 'UTC' AS until_at, right(c.relname, 8) AS suffix
  FROM app.partitioned p JOIN pg_inherits i ON i.inhparent = to_regclass('public.' || p.parent) JOIN pg_class c ON c.oid = i.inhrelid
  WHERE p.place IN (1, 5) AND c.relname ~ '_[0-9]{4}_[0-9]{2}$';
GRANT SELECT ON app.partition_sets TO PUBLIC;

-- Whether nothing in a set is open any more: no session, event or delivery, and no matter for a person.
CREATE FUNCTION app.is_set_done(of_kind text, suffix text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE is_done boolean;
BEGIN
  IF of_kind <> 'payments' THEN RETURN true; END IF;
  EXECUTE replace($check$SELECT NOT (
    EXISTS (SELECT FROM partitions.payment_session_X WHERE phase = 'IDLE')
    OR EXISTS (SELECT FROM partitions.payment_session_X WHERE phase = 'PROCESSING')
    OR EXISTS (SELECT FROM event_todo t JOIN partitions.payment_session_X s ON s.id = t.session_id)
    OR EXISTS (SELECT FROM partitions.delivery_X WHERE status = 'PENDING')
    OR EXISTS (SELECT FROM partitions.refund_X WHERE status IN ('REQUESTED','PENDING') OR created_at > app.clock() - interval '30 days')
    OR EXISTS (SELECT FROM partitions.payment_session_X s JOIN work_item w ON w.session_id = s.id AND w.closed_at IS NULL)
    OR EXISTS (SELECT FROM partitions.payment_session_X s JOIN orphaned_authorization h ON h.session_id = s.id AND h.ended_at IS NULL))$check$,
    '_X', suffix) INTO is_done;
  RETURN is_done;
END $$;

-- Makes the sets of this month and the next, and drops those past their time in which nothing waits. What it did, a row
-- each. It always acts as the owner of the tables and takes no parameters. A month whose rows are in the set
-- rest already stays there. It waits for less than a deadlock is looked for, so a deadlock never ends a payment.
CREATE FUNCTION app.keep_partitions() RETURNS TABLE (kind text, suffix text, done text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '500ms' AS $$
#variable_conflict use_column
DECLARE
  this_month timestamptz := date_trunc('month', app.clock(), 'UTC');
  one        record;
  is_free    boolean;
BEGIN
  -- One at a time; the second caller has nothing to do.
  IF NOT pg_try_advisory_xact_lock(hashtextextended('app.keep_partitions', 0)) THEN RETURN; END IF;
  FOR one IN
    SELECT r.kind, p.parent, p.key_column, to_char(m AT TIME ZONE 'UTC', '_YYYY_MM') AS suffix,
      app.first_id_at(m) AS from_id, app.first_id_at(m + interval '1 month') AS to_id
    FROM app.retention r JOIN app.partitioned p ON p.kind = r.kind AND p.place IN (1, 5),
      generate_series(this_month, this_month + interval '1 month', interval '1 month', 'UTC') m
    WHERE NOT EXISTS (SELECT FROM app.partition_sets s WHERE s.kind = r.kind AND s.from_at = m)
    ORDER BY m, r.kind
  LOOP
    EXECUTE format('SELECT NOT EXISTS (SELECT FROM partitions.%1$I WHERE %2$I >= %3$L AND %2$I < %4$L)',
      one.parent || '_rest', one.key_column, one.from_id, one.to_id) INTO is_free;
    CONTINUE WHEN NOT is_free;
    PERFORM app.make_set(one.kind, '_rest', one.suffix, format('FOR VALUES FROM (%L) TO (%L)', one.from_id, one.to_id));
    RETURN QUERY SELECT one.kind, one.suffix, 'made';
  END LOOP;
  FOR one IN
    SELECT s.kind, s.suffix, string_agg(format('partitions.%I', p.parent || s.suffix), ', ') AS tables,
      app.first_id_at(min(s.from_at)) AS from_id, app.first_id_at(min(s.until_at)) AS to_id
    FROM app.partition_sets s JOIN app.retention r ON r.kind = s.kind AND s.until_at <= app.clock() - r.keep
      JOIN app.partitioned p ON p.kind = s.kind
    GROUP BY s.kind, s.suffix ORDER BY s.suffix
  LOOP
    CONTINUE WHEN NOT app.is_set_done(one.kind, one.suffix);
    IF one.kind = 'payments' THEN
      DELETE FROM work_item WHERE session_id >= one.from_id AND session_id < one.to_id;
      DELETE FROM orphaned_authorization WHERE session_id >= one.from_id AND session_id < one.to_id;
      DELETE FROM app.order_winner WHERE session_id >= one.from_id AND session_id < one.to_id;
    END IF;
    EXECUTE 'DROP TABLE ' || one.tables;
    IF one.kind = 'payments' THEN
      -- Afterwards: the DROP has waited for sums that were being made of these rows.
      DELETE FROM ledger_sum WHERE month = to_date(one.suffix, '_YYYY_MM');
      EXECUTE (SELECT string_agg('DROP FUNCTION ' || oid::regprocedure, '; ') FROM pg_proc
               WHERE pronamespace = 'partitions'::regnamespace AND right(proname, length(one.suffix)) = one.suffix);
    END IF;
    RETURN QUERY SELECT one.kind, one.suffix, 'dropped';
  END LOOP;
END $$;
SELECT FROM app.keep_partitions();

-- The functions of a payment over the whole tables, for an id whose set the service does not know. The service names those of a set
-- otherwise (src/platform/partition-names.ts).
CREATE VIEW app.payment_functions AS
  SELECT left(proname, -5) AS name FROM pg_proc WHERE pronamespace = 'partitions'::regnamespace AND prosecdef AND proname LIKE '%_rest';
GRANT SELECT ON app.payment_functions TO PUBLIC;
DO $$
DECLARE definition text;
BEGIN
  FOR definition IN
    SELECT regexp_replace(replace(pg_get_functiondef(p.oid), 'FUNCTION partitions.' || f.name || '_rest', 'FUNCTION app.' || f.name), 'partitions[.](\w+)_rest', 'public.\1', 'g')
    FROM app.payment_functions f JOIN pg_proc p ON p.pronamespace = 'partitions'::regnamespace AND p.proname = f.name || '_rest'
  LOOP
    EXECUTE definition;
  END LOOP;
END $$;
