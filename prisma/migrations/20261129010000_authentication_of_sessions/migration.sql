ALTER TABLE "sessions" ADD COLUMN "amr" TEXT[], ADD COLUMN "authenticated_at" TIMESTAMPTZ(3);
ALTER TABLE "exchange_codes" ADD COLUMN "amr" TEXT[];
