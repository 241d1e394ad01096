-- A refresh token holds its session, its generation and a MAC, so that only the generation is stored.
DROP TABLE "refresh_tokens";
ALTER TABLE "sessions" ADD COLUMN "generation" INTEGER NOT NULL DEFAULT 0, ADD COLUMN "rotated_at" TIMESTAMPTZ(3);

-- The browser in which a code works, and the one that used it.
ALTER TABLE "exchange_codes"
  ADD COLUMN "browser_hash" BYTEA,
  ADD COLUMN "used_by" BYTEA,
  ADD CONSTRAINT "exchange_codes_browser_hash_is_sha256" CHECK (octet_length("browser_hash") = 32),
  ADD CONSTRAINT "exchange_codes_used_by_is_sha256" CHECK (octet_length("used_by") = 32);
