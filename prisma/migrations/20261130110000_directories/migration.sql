-- The directory of a connection, such as Okta or Entra ID, adds, changes and disables users (SCIM, RFC 7644).
CREATE TABLE "scim_tokens" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "connection_id" UUID NOT NULL,
    "token_hash" BYTEA NOT NULL,
    "hint" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),

    CONSTRAINT "scim_tokens_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "scim_tokens_token_hash_is_sha256" CHECK (octet_length("token_hash") = 32)
);
CREATE UNIQUE INDEX "scim_tokens_token_hash_key" ON "scim_tokens"("token_hash");
CREATE INDEX "scim_tokens_connection_id_idx" ON "scim_tokens"("connection_id");
ALTER TABLE "scim_tokens" ADD CONSTRAINT "scim_tokens_connection_id_fkey" FOREIGN KEY ("connection_id") REFERENCES "connections"("id") ON DELETE CASCADE ON UPDATE CASCADE;

CREATE TABLE "scim_users" (
    "connection_id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "external_id" TEXT,
    "user_name" TEXT NOT NULL,
    "given_name" TEXT,
    "family_name" TEXT,
    "display_name" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "scim_users_pkey" PRIMARY KEY ("user_id","connection_id")
);
-- The connection comes last, so that no plan reads all users of a directory. The collation C folds A–Z only.
CREATE UNIQUE INDEX "scim_users_folded_user_name_key" ON "scim_users"(lower("user_name" COLLATE "C"), "connection_id");
CREATE UNIQUE INDEX "scim_users_external_id_connection_id_key" ON "scim_users"("external_id", "connection_id");
CREATE INDEX "scim_users_connection_id_created_at_user_id_idx" ON "scim_users"("connection_id", "created_at", "user_id");
ALTER TABLE "scim_users" ADD CONSTRAINT "scim_users_connection_id_fkey" FOREIGN KEY ("connection_id") REFERENCES "connections"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "scim_users" ADD CONSTRAINT "scim_users_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- The connection whose directory has disabled the user. A directory never enables whom an operator has disabled.
ALTER TABLE "users" ADD COLUMN "disabled_by" UUID;
CREATE INDEX "users_disabled_by_idx" ON "users"("disabled_by") WHERE "disabled_by" IS NOT NULL;

-- The session at the identity provider, which its logout tokens name (OpenID Connect Back-Channel Logout).
ALTER TABLE "exchange_codes" ADD COLUMN "provider_session" TEXT;
ALTER TABLE "sessions" ADD COLUMN "provider_session" TEXT;
CREATE INDEX "exchange_codes_provider_session_idx" ON "exchange_codes"("provider_session") WHERE "provider_session" IS NOT NULL;
CREATE INDEX "sessions_provider_session_idx" ON "sessions"("provider_session") WHERE "provider_session" IS NOT NULL;
