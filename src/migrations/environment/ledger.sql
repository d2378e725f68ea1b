-- The movements of money of days that are over, added up, so that no total reads them singly. A day counts whole, an hour after its end:
-- by then nothing of it changes any more, also where a server's clock is behind that of the one that it replaces.

-- What moved before this moment is in the sums.
CREATE TABLE ledger_walk (
  only_one      boolean PRIMARY KEY DEFAULT true CHECK (only_one),
  counted_until timestamptz NOT NULL
);
INSERT INTO ledger_walk (counted_until) VALUES ('-infinity');

CREATE TABLE ledger_sum (
  merchant_id  uuid NOT NULL,
  day          date NOT NULL,
  -- The month of the payments' partitions. app.keep_partitions() drops the sums with them.
  month        date NOT NULL,
  type         text NOT NULL,
  gateway      text NOT NULL,
  currency     text NOT NULL,
  entries      int NOT NULL,
  amount_minor bigint NOT NULL,
  PRIMARY KEY (merchant_id, day, month, type, gateway, currency)
);
