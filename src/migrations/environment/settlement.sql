-- What gateways paid out, from their own statements. A payment executes nothing of it.

CREATE TABLE payout (
  id                uuid PRIMARY KEY,
  merchant_id       uuid NOT NULL,
  connection_id     uuid NOT NULL REFERENCES connection (id),
  gateway           text NOT NULL,
  gateway_reference text NOT NULL CHECK (char_length(gateway_reference) BETWEEN 1 AND 255),
  status            text NOT NULL CHECK (status IN ('PENDING','PAID','FAILED')),
  -- Negative where the gateway took the money from the bank account.
  amount_minor      bigint NOT NULL,
  currency          text NOT NULL,
  arrives_on        date,
  -- The gateway knows all its lines, and they can be read.
  lines_known       boolean NOT NULL DEFAULT false,
  -- When its lines were all known, and what they do not explain of its amount. The guard computes it.
  complete_at       timestamptz,
  remainder_minor   bigint,
  created_at        timestamptz NOT NULL DEFAULT app.clock(),
  -- The day that it is listed on.
  day               date NOT NULL GENERATED ALWAYS AS (coalesce(arrives_on, (created_at AT TIME ZONE 'UTC')::date)) STORED,
  UNIQUE (connection_id, gateway_reference),
  UNIQUE (connection_id, id),
  CHECK ((complete_at IS NULL) = (remainder_minor IS NULL))
);
CREATE INDEX payout_of_merchant ON payout (merchant_id, day, id);
CREATE INDEX payout_incomplete ON payout (connection_id) WHERE lines_known AND complete_at IS NULL;
-- Those that do not add up, for the alert.
CREATE INDEX payout_with_remainder ON payout (merchant_id) WHERE remainder_minor <> 0;

-- Rules S1 to S6 of docs/settlement.md: S1 is the primary key.
CREATE TABLE payout_line (
  connection_id       uuid NOT NULL REFERENCES connection (id),
  -- The gateway's own name of the line, or its place in the report.
  line_id             text COLLATE "C" NOT NULL CHECK (char_length(line_id) BETWEEN 1 AND 255),
  -- SHA-256 of what was read: another reading of the line says the same.
  digest              bytea NOT NULL,
  merchant_id         uuid NOT NULL,
  gateway             text NOT NULL,
  -- Null while the money is in the balance of the account.
  payout_id           uuid,
  kind                text NOT NULL CHECK (kind IN (
    'CAPTURE','REFUND','REFUND_FAILED','CHARGEBACK','CHARGEBACK_REVERSED','FEE','RESERVE','CONVERSION','ADJUSTMENT','PAYOUT','OTHER')),
  status              text NOT NULL CHECK (status IN ('MATCHED','UNMATCHED','ACCOUNT')),
  reason              text,
  -- What moved in the payment's currency, and the same in the payout's; negative if it was taken. Null if it cannot be read.
  gross_minor         bigint,
  currency            text,
  settled_gross_minor bigint,
  fee_minor           bigint,
  net_minor           bigint,
  settlement_currency text,
  gateway_type        text NOT NULL CHECK (char_length(gateway_type) <= 255),
  gateway_reference   text NOT NULL CHECK (char_length(gateway_reference) <= 255),
  -- The names by which the entry is looked for (LineNames in src/gateways/settlement.ts).
  names               jsonb NOT NULL DEFAULT '{}',
  -- The ledger's entry that the line pays. The ordinal is that of a dispute's movement, and 0 of all else.
  session_id          uuid,
  entry_type          text,
  entry_id            uuid,
  entry_ordinal       smallint,
  -- When the ledger recorded the entry: the usual delay of an account is measured with it.
  entry_at            timestamptz,
  -- When an entry is looked for again, and when the line was read first.
  next_try_at         timestamptz,
  recorded_at         timestamptz NOT NULL DEFAULT app.clock(),
  PRIMARY KEY (connection_id, line_id),
  FOREIGN KEY (connection_id, payout_id) REFERENCES payout (connection_id, id),
  -- S2.
  CONSTRAINT payout_line_sum CHECK (reason IS NOT DISTINCT FROM 'unreadable' OR
    num_nulls(gross_minor, currency, settled_gross_minor, fee_minor, net_minor, settlement_currency) = 0 AND settled_gross_minor - fee_minor = net_minor),
  -- S6.
  CONSTRAINT payout_line_status CHECK (CASE status
    WHEN 'MATCHED' THEN reason IS NULL AND num_nulls(session_id, entry_type, entry_id, entry_ordinal, entry_at) = 0 AND entry_type = CASE kind
      WHEN 'CAPTURE' THEN 'CAPTURED' WHEN 'REFUND' THEN 'REFUNDED' WHEN 'REFUND_FAILED' THEN 'REFUND_FAILED'
      WHEN 'CHARGEBACK' THEN 'CHARGEBACK' WHEN 'CHARGEBACK_REVERSED' THEN 'CHARGEBACK_REVERSED' ELSE '' END
    WHEN 'ACCOUNT' THEN reason IS NULL AND num_nonnulls(session_id, entry_type, entry_id, entry_ordinal, entry_at) = 0
      AND kind IN ('FEE','RESERVE','CONVERSION','ADJUSTMENT','PAYOUT')
    ELSE coalesce(reason IN ('not_ours','not_found','already_paid','amount_differs','unknown_type','unreadable'), false)
      AND num_nonnulls(entry_type, entry_id, entry_ordinal, entry_at) = 0 AND (reason = 'unreadable' OR (kind = 'OTHER') = (reason = 'unknown_type'))
      AND (reason = 'unreadable' OR kind NOT IN ('FEE','RESERVE','CONVERSION','ADJUSTMENT','PAYOUT')) END),
  CHECK (next_try_at IS NULL OR status = 'UNMATCHED')
);
-- S3: an entry of the ledger is paid once.
CREATE UNIQUE INDEX payout_line_of_entry ON payout_line (session_id, entry_type, entry_id, entry_ordinal) WHERE status = 'MATCHED';
-- A payout has up to a hundred thousand lines, of which few are unmatched.
CREATE INDEX payout_line_of_payout ON payout_line (payout_id, recorded_at, line_id, status) WHERE payout_id IS NOT NULL;
CREATE INDEX payout_line_of_merchant ON payout_line (merchant_id, recorded_at, line_id);
-- The few that need a look, and those whose entry is looked for again.
CREATE INDEX payout_line_unmatched ON payout_line (merchant_id, recorded_at, line_id) WHERE status = 'UNMATCHED';
-- An account that other systems use as well has many of one reason, and few of another.
CREATE INDEX payout_line_by_reason ON payout_line (merchant_id, reason, recorded_at, line_id) WHERE status = 'UNMATCHED';
-- A few for each payout.
CREATE INDEX payout_line_account ON payout_line (merchant_id, recorded_at, line_id) WHERE status = 'ACCOUNT';
CREATE INDEX payout_line_to_match ON payout_line (next_try_at) WHERE next_try_at IS NOT NULL;
-- A payment with a line of another amount: the reason why it is open.
CREATE INDEX payout_line_of_session ON payout_line (session_id) WHERE session_id IS NOT NULL AND status = 'UNMATCHED';
CREATE INDEX payout_line_by_age ON payout_line USING brin (recorded_at);

-- Reports that a signed notification has announced, the batches that are missing before them, and how far each is read.
CREATE TABLE settlement_report (
  connection_id uuid NOT NULL REFERENCES connection (id),
  name          text NOT NULL CHECK (name ~ '^settlement_detail_report_[A-Za-z0-9_-]{1,100}[.]csv$'),
  is_announced  boolean NOT NULL DEFAULT true,
  -- The one that waits longest is read first.
  queued_at     timestamptz NOT NULL DEFAULT app.clock(),
  rows_read     int NOT NULL DEFAULT 0 CHECK (rows_read >= 0),
  -- Read to its end, or given up.
  read_at       timestamptz,
  -- At the last reading, the gateway had no such report.
  is_missing    boolean NOT NULL DEFAULT false,
  PRIMARY KEY (connection_id, name)
);
CREATE INDEX settlement_report_unread ON settlement_report (connection_id, queued_at) WHERE read_at IS NULL;

-- What gateways keep, by the month of the payment. Lines of the account, which belong to no payment, have their own type and month.
CREATE TABLE analytics_cost (
  merchant_id         uuid NOT NULL,
  month               date NOT NULL,
  gateway             text NOT NULL,
  type                text NOT NULL CHECK (type IN ('CAPTURED','REFUNDED','REFUND_FAILED','CHARGEBACK','CHARGEBACK_REVERSED','ACCOUNT')),
  -- Empty if it is not known.
  card_brand          text NOT NULL,
  -- Those of a split; 0 and empty without one.
  rule_version        int NOT NULL,
  case_name           text NOT NULL,
  arm                 text NOT NULL,
  currency            text NOT NULL,
  settlement_currency text NOT NULL,
  lines               int NOT NULL,
  settled_gross_minor bigint NOT NULL,
  fee_minor           bigint NOT NULL,
  PRIMARY KEY (merchant_id, month, gateway, type, card_brand, rule_version, case_name, arm, currency, settlement_currency)
);
