-- The whole schema as PostgreSQL 18 describes it, written by `npm run schema`.
-- Read it, and change it by migrations. `switchyard doctor` compares a database with it.

-- table card
CREATE UNLOGGED TABLE card (
  token_hash bytea NOT NULL,
  environment text NOT NULL,
  session_id text NOT NULL,
  sealed text NOT NULL,
  uses_left integer NOT NULL,
  expires_at timestamp with time zone NOT NULL
);

-- table card_session
CREATE UNLOGGED TABLE card_session (
  environment text NOT NULL,
  session_id text NOT NULL,
  tokens_made integer NOT NULL,
  over boolean DEFAULT false NOT NULL,
  expires_at timestamp with time zone NOT NULL
);

-- table vault_copy
CREATE UNLOGGED TABLE vault_copy (
  id uuid NOT NULL,
  expires_at timestamp with time zone NOT NULL
);

-- constraint card.card_environment_check
ALTER TABLE card ADD CONSTRAINT card_environment_check CHECK ((environment = ANY (ARRAY['test'::text, 'live'::text])));

-- constraint card.card_pkey
ALTER TABLE card ADD CONSTRAINT card_pkey PRIMARY KEY (token_hash);

-- constraint card.card_token_hash_check
ALTER TABLE card ADD CONSTRAINT card_token_hash_check CHECK ((octet_length(token_hash) = 32));

-- constraint card.card_uses_left_check
ALTER TABLE card ADD CONSTRAINT card_uses_left_check CHECK ((uses_left >= 0));

-- constraint card_session.card_session_environment_check
ALTER TABLE card_session ADD CONSTRAINT card_session_environment_check CHECK ((environment = ANY (ARRAY['test'::text, 'live'::text])));

-- constraint card_session.card_session_pkey
ALTER TABLE card_session ADD CONSTRAINT card_session_pkey PRIMARY KEY (environment, session_id);

-- constraint vault_copy.vault_copy_pkey
ALTER TABLE vault_copy ADD CONSTRAINT vault_copy_pkey PRIMARY KEY (id);

-- index card_by_expiry
CREATE INDEX card_by_expiry ON card USING btree (expires_at);

-- index card_by_session
CREATE INDEX card_by_session ON card USING btree (environment, session_id);

-- index card_session_by_expiry
CREATE INDEX card_session_by_expiry ON card_session USING btree (expires_at);

-- privileges card to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON card TO the runtime role;

-- privileges card_session to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON card_session TO the runtime role;

-- privileges new tables in public to the runtime role
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT INSERT, SELECT, UPDATE ON TABLES TO the runtime role;

-- privileges vault_copy to the runtime role
GRANT DELETE, INSERT, SELECT, UPDATE ON vault_copy TO the runtime role;
