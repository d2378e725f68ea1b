-- The monthly sets: a view of them, their creation and removal in time, and the functions of a payment over all of them.

-- The monthly sets that there are, by their first moments.
CREATE VIEW app.partition_sets AS
  SELECT p.kind, to_date(right(c.relname, 7), 'YYYY_MM')::timestamp AT TIME ZONE 'UTC' AS from_at,
    (to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month')::timestamp AT TIME ZONE 'UTC' AS until_at, right(c.relname, 8) AS suffix
  FROM app.partitioned p JOIN pg_inherits i ON i.inhparent = to_regclass('public.' || p.parent) JOIN pg_class c ON c.oid = i.inhrelid
  WHERE p.place IN (1, 5) AND c.relname ~ '_[0-9]{4}_[0-9]{2}$';
GRANT SELECT ON app.partition_sets TO PUBLIC;

-- Whether nothing in a set is open any more: no session, event or delivery, and no matter for a person. A dispute of which nothing was
-- heard for 240 days is over: many banks never report the end of an inquiry.
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
    OR EXISTS (SELECT FROM partitions.dispute_X WHERE updated_at > app.clock() - CASE WHEN closed_at IS NULL THEN interval '240 days' ELSE interval '30 days' END)
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
      app.first_id_at(min(s.from_at)) AS from_id, app.first_id_at(min(s.until_at)) AS to_id, min(s.until_at) AS until_at
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
      -- Lines of the month's payments, and those of no payment that are as old.
      DELETE FROM payout_line WHERE session_id >= one.from_id AND session_id < one.to_id;
      DELETE FROM payout_line WHERE session_id IS NULL AND recorded_at < one.until_at;
      DELETE FROM payout p WHERE p.created_at < one.until_at AND p.complete_at IS NOT NULL AND NOT EXISTS (SELECT FROM payout_line l WHERE l.payout_id = p.id);
      DELETE FROM settlement_report WHERE read_at < one.until_at;
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
