/** A change that has to meet one row says so itself, so that its transaction can go on, and commit, before anybody has read its answer. */

export const name = "019-required-changes";

export const sql = `
-- LL001 is the service's own: the rows are no longer what whoever changes them has seen (src/core/lease.ts).
CREATE FUNCTION app.require_one(changed bigint, otherwise text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF changed <> 1 THEN RAISE EXCEPTION '%', otherwise USING ERRCODE = 'LL001'; END IF;
END $$;
`;
