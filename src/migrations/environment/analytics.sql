-- Payments, attempts, declines and authentications counted beforehand, from quarters of an hour to days, so that no chart reads them singly.

-- The step of a latency: four to each doubling from 1 ms on, 64 in all; none where there is no end.
CREATE FUNCTION app.latency_step(from_at timestamptz, to_at timestamptz) RETURNS int LANGUAGE sql IMMUTABLE AS
  'SELECT CASE WHEN to_at - from_at IS NOT NULL THEN
     least(63, floor(4 * ln(greatest(1, extract(epoch FROM to_at - from_at)::float8 * 1000)) / ln(2::float8))::int) END';

-- Before this moment no payment is settled any more: neither from now on, nor in a transaction that still runs. Every process
-- settles under the same role, which sees its own transactions. The payments' clock is read before the server's, so that
-- what lies between the two pushes the moment back.
CREATE FUNCTION app.settled_before() RETURNS timestamptz LANGUAGE sql VOLATILE AS
  'SELECT app.clock() - clock_timestamp() + min(xact_start) FROM pg_stat_activity WHERE datname = current_database()';

-- A latency, in all tables below, is a histogram: twelve decimal digits for each step, those of step 0 last. So sums of rows, which would
-- otherwise be 64 sums each, are sums of numbers.

-- What was settled before this moment is in the counts; the rest is read from the payments themselves.
CREATE TABLE analytics_walk (
  only_one      boolean PRIMARY KEY DEFAULT true CHECK (only_one),
  counted_until timestamptz NOT NULL
);
INSERT INTO analytics_walk (counted_until) VALUES ('-infinity');

-- A payment counts when it was settled, and so do its attempts: from then on nothing that is counted changes.
CREATE TABLE analytics_payment (
  merchant_id       uuid NOT NULL,
  minutes           int NOT NULL CHECK (minutes IN (15, 60, 360, 1440)),
  starts_at         timestamptz NOT NULL,
  currency          text NOT NULL,
  succeeded         int NOT NULL,
  -- Approved, and then cancelled by the merchant or not captured in time.
  released          int NOT NULL,
  declined          int NOT NULL,
  degraded          int NOT NULL,
  expired           int NOT NULL,
  saved             int NOT NULL,
  -- Those whose customer was asked to authenticate.
  challenged        int NOT NULL,
  -- Those with an authentication that passed; of them, those saved by failover; and those with more than one challenge.
  authenticated     int NOT NULL,
  saved_authenticated int NOT NULL,
  challenged_again  int NOT NULL,
  volume_minor      bigint NOT NULL,
  saved_minor       bigint NOT NULL,
  -- The part of the volume for which the card's issuer is liable.
  issuer_minor      bigint NOT NULL,
  latency           numeric NOT NULL,
  PRIMARY KEY (merchant_id, minutes, starts_at, currency)
);
CREATE TABLE analytics_attempt (
  merchant_id       uuid NOT NULL,
  minutes           int NOT NULL CHECK (minutes IN (15, 60, 360, 1440)),
  starts_at         timestamptz NOT NULL,
  gateway           text NOT NULL,
  currency          text NOT NULL,
  approved          int NOT NULL,
  hard_declined     int NOT NULL,
  soft_declined     int NOT NULL,
  fraud_declined    int NOT NULL,
  timeouts          int NOT NULL,
  gateway_errors    int NOT NULL,
  -- Of the two above, those after which it was unknown whether the gateway held the amount.
  unknown           int NOT NULL,
  -- Declines that asked for authentication, and those of them whose payment succeeded all the same.
  authentication_required int NOT NULL,
  recovered         int NOT NULL,
  latency           numeric NOT NULL,
  PRIMARY KEY (merchant_id, minutes, starts_at, gateway, currency)
);
CREATE TABLE analytics_decline (
  merchant_id       uuid NOT NULL,
  minutes           int NOT NULL CHECK (minutes IN (15, 60, 360, 1440)),
  starts_at         timestamptz NOT NULL,
  gateway           text NOT NULL,
  currency          text NOT NULL,
  decline_code      text NOT NULL,
  attempts          int NOT NULL,
  PRIMARY KEY (merchant_id, minutes, starts_at, gateway, currency, decline_code)
);
CREATE TABLE analytics_authentication (
  merchant_id       uuid NOT NULL,
  minutes           int NOT NULL CHECK (minutes IN (15, 60, 360, 1440)),
  starts_at         timestamptz NOT NULL,
  -- The gateway, or the provider outside of the gateways.
  gateway           text NOT NULL,
  currency          text NOT NULL,
  passed            int NOT NULL,
  exempted          int NOT NULL,
  failed            int NOT NULL,
  cancelled         int NOT NULL,
  abandoned         int NOT NULL,
  unavailable       int NOT NULL,
  -- Of all the above: without a challenge, with one that no page has shown, and with the liability of the issuer.
  frictionless      int NOT NULL,
  never_shown       int NOT NULL,
  issuer_liable     int NOT NULL,
  -- The time at the bank, in units of 16 ms.
  latency           numeric NOT NULL,
  PRIMARY KEY (merchant_id, minutes, starts_at, gateway, currency)
);
-- Payments that a customer submitted, by what is known of their cards: each payment in a row of its brand and in one of its country.
CREATE TABLE analytics_card (
  merchant_id       uuid NOT NULL,
  minutes           int NOT NULL CHECK (minutes IN (15, 60, 360, 1440)),
  starts_at         timestamptz NOT NULL,
  currency          text NOT NULL,
  fact              text NOT NULL CHECK (fact IN ('BRAND','COUNTRY')),
  -- Empty if it is not known.
  value             text NOT NULL,
  succeeded         int NOT NULL,
  -- Approved, and then cancelled by the merchant or not captured in time.
  released          int NOT NULL,
  declined          int NOT NULL,
  degraded          int NOT NULL,
  saved             int NOT NULL,
  PRIMARY KEY (merchant_id, minutes, starts_at, currency, fact, value)
);
-- Payments that their merchant made without the customer, by an agreement. All others were made by their customers.
CREATE TABLE analytics_renewal (
  merchant_id       uuid NOT NULL,
  minutes           int NOT NULL CHECK (minutes IN (15, 60, 360, 1440)),
  starts_at         timestamptz NOT NULL,
  currency          text NOT NULL,
  succeeded         int NOT NULL,
  -- Approved, and then cancelled by the merchant or not captured in time.
  released          int NOT NULL,
  declined          int NOT NULL,
  degraded          int NOT NULL,
  saved             int NOT NULL,
  PRIMARY KEY (merchant_id, minutes, starts_at, currency)
);
-- Payments by a wallet. All others were made with a card.
CREATE TABLE analytics_wallet (
  merchant_id       uuid NOT NULL,
  minutes           int NOT NULL CHECK (minutes IN (15, 60, 360, 1440)),
  starts_at         timestamptz NOT NULL,
  currency          text NOT NULL,
  -- Empty if the vault could not be asked for it.
  wallet            text NOT NULL,
  succeeded         int NOT NULL,
  -- Approved, and then cancelled by the merchant or not captured in time.
  released          int NOT NULL,
  declined          int NOT NULL,
  degraded          int NOT NULL,
  saved             int NOT NULL,
  -- Attempts with a cryptogram that a network may have seen before.
  resends_approved  int NOT NULL,
  resends_refused   int NOT NULL,
  PRIMARY KEY (merchant_id, minutes, starts_at, currency, wallet)
);
-- Payments of split plans: that of a case, or, with an empty name, the default plan of a version of the rule.
CREATE TABLE analytics_arm (
  merchant_id       uuid NOT NULL,
  minutes           int NOT NULL CHECK (minutes IN (15, 60, 360, 1440)),
  starts_at         timestamptz NOT NULL,
  rule_version      int NOT NULL,
  case_name         text NOT NULL,
  arm               text NOT NULL CHECK (arm IN ('A','B')),
  currency          text NOT NULL,
  succeeded         int NOT NULL,
  -- Approved, and then cancelled by the merchant or not captured in time.
  released          int NOT NULL,
  declined          int NOT NULL,
  degraded          int NOT NULL,
  saved             int NOT NULL,
  latency           numeric NOT NULL,
  PRIMARY KEY (merchant_id, minutes, starts_at, rule_version, case_name, arm, currency)
);
-- What gateways charge for, by the arms of splits.
CREATE TABLE analytics_arm_cost (
  merchant_id       uuid NOT NULL,
  minutes           int NOT NULL CHECK (minutes IN (15, 60, 360, 1440)),
  starts_at         timestamptz NOT NULL,
  rule_version      int NOT NULL,
  case_name         text NOT NULL,
  arm               text NOT NULL CHECK (arm IN ('A','B')),
  gateway           text NOT NULL,
  currency          text NOT NULL,
  attempts          int NOT NULL,
  captured          int NOT NULL,
  voided            int NOT NULL,
  captured_minor    bigint NOT NULL,
  PRIMARY KEY (merchant_id, minutes, starts_at, rule_version, case_name, arm, gateway, currency)
);

-- These find old rows, which lie in the order of their times.
CREATE INDEX analytics_payment_by_age ON analytics_payment USING brin (starts_at);
CREATE INDEX analytics_attempt_by_age ON analytics_attempt USING brin (starts_at);
CREATE INDEX analytics_decline_by_age ON analytics_decline USING brin (starts_at);
CREATE INDEX analytics_card_by_age ON analytics_card USING brin (starts_at);
CREATE INDEX analytics_renewal_by_age ON analytics_renewal USING brin (starts_at);
CREATE INDEX analytics_wallet_by_age ON analytics_wallet USING brin (starts_at);
CREATE INDEX analytics_authentication_by_age ON analytics_authentication USING brin (starts_at);
CREATE INDEX analytics_arm_by_age ON analytics_arm USING brin (starts_at);
CREATE INDEX analytics_arm_cost_by_age ON analytics_arm_cost USING brin (starts_at);
