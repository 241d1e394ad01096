-- Creates the database and two roles. auth_owner (for DIRECT_DATABASE_URL) owns the database and runs migrations.
-- auth_app (for DATABASE_URL) is the serving role. Change the names and the passwords. Run each part as the role in its
-- heading. auth_owner cannot run part 1, because CREATE ROLE, CREATE DATABASE and ALTER ROLE … SET need an administrator.

-- 1. As an administrator of PostgreSQL, such as postgres, in any database:
CREATE ROLE auth_owner LOGIN PASSWORD 'owner_password';
CREATE ROLE auth_app LOGIN PASSWORD 'app_password';
CREATE DATABASE auth;
ALTER DATABASE auth OWNER TO auth_owner;
-- Without a pooler, the app sets the parameters below for each connection. Behind a pooler, set them for the role.
ALTER ROLE auth_app SET TimeZone = 'UTC';
ALTER ROLE auth_app SET statement_timeout = '4s';
ALTER ROLE auth_app SET idle_in_transaction_session_timeout = '10s';
ALTER ROLE auth_app SET enable_seqscan = off; -- lookups use an index, even if the plan was made on an empty table

-- 2. As the same administrator, in the new database. Since PostgreSQL 15, these privileges are the default:
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT CREATE ON SCHEMA public TO auth_owner;

-- 3. As auth_owner, in the new database, after `npm run migrate`. Run this part again after each update of the app:
GRANT SELECT ON _prisma_migrations TO auth_app;
GRANT SELECT (id, email, email_domain, has_password, password_policy, disabled_at, second_factor_at),
  INSERT (email, email_domain), UPDATE (password_hash, password_changed_at) ON users TO auth_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON exchange_codes, authorization_codes, reset_tokens, sessions, mails, password_attempts,
  logout_notices TO auth_app;
GRANT SELECT ON connections, connection_domains, widgets, widget_origins, widget_tokens, clients, client_secrets
  TO auth_app;
GRANT UPDATE (live_since) ON connection_domains TO auth_app; -- PostgreSQL demands this for a row lock: nothing is changed
GRANT UPDATE (tried_at) ON connections TO auth_app;
GRANT SELECT, INSERT ON identities TO auth_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON rejected_sign_ins TO auth_app;
GRANT SELECT, INSERT, UPDATE (claimed_at), DELETE ON sso_attempts TO auth_app;
GRANT SELECT, INSERT ON events TO auth_app; -- it can neither change nor delete what has happened
GRANT EXECUTE ON FUNCTION delete_events(integer, integer) TO auth_app; -- keeps what is younger than 30 days

-- 4. As auth_owner, only with PASSWORD_SIGN_IN=true, because the app then has to verify passwords:
GRANT SELECT (password_hash, password_changed_at, created_at), UPDATE (second_factor_at) ON users TO auth_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON second_factors, recovery_codes, passkeys TO auth_app;

-- 5. As auth_owner, only with SCIM=true, because directories then change and disable users:
GRANT SELECT (disabled_by), UPDATE (email, email_domain, disabled_at, disabled_by) ON users TO auth_app;
GRANT SELECT ON scim_tokens TO auth_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON scim_users TO auth_app;

-- 6. As auth_owner, only with SETUP_LINKS=true, because the holder of a setup link then changes a connection:
GRANT SELECT, UPDATE (changed_at, tried_at, tried_as, ended_at), DELETE ON setup_links TO auth_app;
GRANT UPDATE (kind, settings, sealed_secrets, disabled_at) ON connections TO auth_app;
