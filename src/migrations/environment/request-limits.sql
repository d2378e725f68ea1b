-- The buckets in which merchants' requests are counted, shared by every process.

-- Unlogged: counting writes no journal. After a crash of the server all buckets are full again, which soon evens out.
-- HOT updates need room in the page: a row changes many times a second and stays one row.
CREATE UNLOGGED TABLE request_bucket (
  merchant_id uuid        NOT NULL,
  -- A restricted key has one of its own: `api` and its id.
  bucket      text        NOT NULL CHECK (bucket ~ '^(api( [0-9a-f-]{36})?|checkout|submitted)$'),
  -- When the bucket will be full if no more requests come: what is missing until then refills at the rate of the limit.
  full_at     timestamptz NOT NULL,
  -- The last number granted, and when.
  granted     integer     NOT NULL,
  granted_at  timestamptz NOT NULL,
  PRIMARY KEY (merchant_id, bucket)
) WITH (fillfactor = 50);
