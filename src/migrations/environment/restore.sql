-- Shows whether the database is still the same one: the mark that a read replica follows, and the timeline and the cluster
-- in which its commits are known to be whole.

-- The timeline that the server writes, as the names of its write-ahead log begin. Each promotion begins another one.
CREATE FUNCTION app.timeline() RETURNS text LANGUAGE sql STABLE
  AS $$ SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) $$;

-- The cluster that the server is: a dump that was restored into another one may have the same timeline. Each initdb makes
-- another one; null where the server does not say, as one that denies the function. Read from the server's file each time, in 15 µs: what
-- a connection keeps, its user may set.
CREATE FUNCTION app.system_identifier() RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT system_identifier::text FROM pg_control_system());
EXCEPTION WHEN insufficient_privilege OR undefined_function THEN
  RETURN NULL;
END $$;

-- A row that is always fresh, by which a read replica shows that it follows this database and no other. HOT updates stay in
-- one page; every process that checks a replica writes it every few seconds.
CREATE TABLE replica_mark (
  only_one          boolean PRIMARY KEY DEFAULT true CHECK (only_one),
  marked_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The timeline and the cluster that were confirmed.
  timeline          text NOT NULL,
  system_identifier text,
  -- When the last restore was declared: refunds that were made before may be missing.
  restored_at       timestamptz
) WITH (fillfactor = 10);
INSERT INTO replica_mark (timeline, system_identifier) VALUES (app.timeline(), app.system_identifier());

CREATE FUNCTION app.is_timeline_confirmed() RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT timeline = app.timeline() AND coalesce(system_identifier = app.system_identifier(), true) FROM replica_mark
$$;
