/** A row that is always fresh, by which a read replica shows that it follows this database and no other. */

export const name = "021-replica-mark";

export const sql = `
-- HOT updates stay in one page: whoever looks after a replica writes it every few seconds.
CREATE TABLE replica_mark (
  only_one  boolean PRIMARY KEY DEFAULT true CHECK (only_one),
  marked_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 10);
INSERT INTO replica_mark DEFAULT VALUES;
`;
