ALTER TABLE "sessions" ADD COLUMN "method" TEXT;
ALTER TABLE "sessions" ADD COLUMN "parent_id" UUID;
ALTER TABLE "sessions" ADD COLUMN "redirect_uri" TEXT;
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_method_is_known" CHECK ("method" IN ('password', 'sso', 'code'));
CREATE UNIQUE INDEX "sessions_parent_id_redirect_uri_key" ON "sessions"("parent_id", "redirect_uri");

ALTER TABLE "exchange_codes" ADD COLUMN "code_challenge" BYTEA;
ALTER TABLE "exchange_codes" ADD COLUMN "parent_id" UUID;
ALTER TABLE "exchange_codes" ADD COLUMN "redirect_uri" TEXT;
ALTER TABLE "exchange_codes" ADD CONSTRAINT "exchange_codes_code_challenge_is_sha256" CHECK (octet_length("code_challenge") = 32);
