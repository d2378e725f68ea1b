-- One database of an installation and the runtime role of the same name, made by whoever will own the database (a role that
-- may create both). Four times: switchyard_test, switchyard_live, switchyard_accounts, and, on a server of its own,
-- switchyard_vault:
--
--   PASSWORD=… psql "$OWNER_URL" --variable=name=switchyard_test --file deploy/postgres/provision.sql
--
-- Repeating it sets the password and changes nothing else. The runtime role owns nothing, so it cannot drop a guard, and
-- enters no other database. Tables come with `switchyard migrate`, by the owner.
\set ON_ERROR_STOP on
\getenv password PASSWORD

-- The password is in a statement, which must not come into the server's log. Only a superuser may say so: others look that
-- the server's log_statement is none while this runs.
SELECT current_setting('is_superuser') = 'on' AS is_superuser \gset
\if :is_superuser
SET log_statement = 'none';
SET log_min_error_statement = 'panic';
\endif

SELECT format('CREATE ROLE %I', :'name') WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'name') \gexec
ALTER ROLE :"name" LOGIN NOCREATEDB NOCREATEROLE PASSWORD :'password';
SELECT format('CREATE DATABASE %I', :'name') WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = :'name') \gexec
REVOKE ALL ON DATABASE :"name" FROM PUBLIC;
GRANT CONNECT ON DATABASE :"name" TO :"name";
