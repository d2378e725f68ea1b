/** Lets the audit trail of the accounts be removed once it is old, and not before. */

export const name = "004-retention";

export const sql = `
-- As before, but that rows of more than three years may go; src/limits/retention.ts has the period too.
CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' AND TG_TABLE_NAME = 'audit_entry' THEN
    IF OLD.created_at < clock_timestamp() - interval '1096 days' THEN RETURN OLD; END IF;
  END IF;
  RAISE EXCEPTION 'rows of % are never changed', TG_TABLE_NAME USING ERRCODE = 'check_violation';
END $$;
`;
