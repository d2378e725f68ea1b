-- The audit trail of what concerns both environments.

-- As in each environment. Rows never change.
CREATE TABLE audit_entry (
  id          uuid PRIMARY KEY,
  merchant_id uuid,
  -- The member whose account a row is about, if that member may read it. Owners read rows of their own merchants.
  member_id   uuid REFERENCES member,
  actor       text NOT NULL,
  action      text NOT NULL,
  subject     text NOT NULL,
  before      jsonb,
  after       jsonb,
  request_id  text,
  created_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX audit_entry_of_merchant ON audit_entry (merchant_id, id);
CREATE INDEX audit_entry_of_member ON audit_entry (member_id, id) WHERE member_id IS NOT NULL;

-- Rows of more than three years may go; src/limits.ts has the period too.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' AND TG_TABLE_NAME = 'audit_entry' THEN
    IF OLD.created_at < clock_timestamp() - interval '1096 days' THEN RETURN OLD; END IF;
  END IF;
  RAISE EXCEPTION 'rows of % are never changed', TG_TABLE_NAME USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER unchanging BEFORE UPDATE OR DELETE ON audit_entry FOR EACH ROW EXECUTE FUNCTION refuse_change();
