-- Sessions of dashboards have no client. The dashboards sign their users in again, without a page.
DELETE FROM "sessions" WHERE "parent_id" IS NOT NULL;
DELETE FROM "exchange_codes" WHERE "parent_id" IS NOT NULL;

DROP INDEX "sessions_parent_id_redirect_uri_key";
ALTER TABLE "sessions" DROP COLUMN "redirect_uri";
ALTER TABLE "sessions" ADD COLUMN "client_id" UUID;
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_of_clients_have_a_parent" CHECK (("parent_id" IS NULL) = ("client_id" IS NULL));
CREATE UNIQUE INDEX "sessions_parent_id_client_id_key" ON "sessions"("parent_id", "client_id") WHERE "parent_id" IS NOT NULL;

ALTER TABLE "exchange_codes" DROP COLUMN "code_challenge", DROP COLUMN "parent_id", DROP COLUMN "redirect_uri";

CREATE TABLE "authorization_codes" (
    "code_hash" BYTEA NOT NULL,
    "client_id" UUID NOT NULL,
    "parent_id" UUID NOT NULL,
    "redirect_uri" TEXT NOT NULL,
    "code_challenge" BYTEA,
    "nonce" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "used_at" TIMESTAMPTZ(3),
    "session_id" UUID,

    CONSTRAINT "authorization_codes_pkey" PRIMARY KEY ("code_hash"),
    CONSTRAINT "authorization_codes_code_hash_is_sha256" CHECK (octet_length("code_hash") = 32),
    CONSTRAINT "authorization_codes_code_challenge_is_sha256" CHECK (octet_length("code_challenge") = 32)
);
CREATE INDEX "authorization_codes_expires_at_idx" ON "authorization_codes"("expires_at");
