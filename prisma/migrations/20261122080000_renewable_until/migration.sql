-- The end of a session at the identity provider. The earlier version does not know the columns, and leaves them null.
ALTER TABLE "exchange_codes" ADD COLUMN "renewable_until" TIMESTAMPTZ(3);
ALTER TABLE "sessions" ADD COLUMN "renewable_until" TIMESTAMPTZ(3);
