/** The buckets that merchants' requests are counted in, shared by every process. */

export const name = "007-request-limits";

export const sql = `
-- Unlogged: counting writes no journal. After a crash of the server all buckets are full again, which is soon put right.
-- HOT updates need room in the page: a row changes many times a second and stays one row.
CREATE UNLOGGED TABLE request_bucket (
  merchant_id uuid        NOT NULL,
  bucket      text        NOT NULL CHECK (bucket IN ('api','checkout')),
  -- When the bucket will be full if nobody takes more from it: what is missing until then grows at the rate of the limit.
  full_at     timestamptz NOT NULL,
  -- What was given out last, and when.
  granted     integer     NOT NULL,
  granted_at  timestamptz NOT NULL,
  PRIMARY KEY (merchant_id, bucket)
) WITH (fillfactor = 50);
`;
