-- The SHA-256 of the cookie of the browser that started the session.
ALTER TABLE "sessions" ADD COLUMN "browser_hash" BYTEA;
