-- Several connections can have a domain, but only one can be live for it. Until now, each domain had one connection.
ALTER TABLE "connection_domains" ADD COLUMN "live_since" TIMESTAMPTZ(3);
UPDATE "connection_domains" SET "live_since" = CURRENT_TIMESTAMP;

ALTER TABLE "connection_domains" DROP CONSTRAINT "connection_domains_pkey";
ALTER TABLE "connection_domains" ADD CONSTRAINT "connection_domains_pkey" PRIMARY KEY ("domain", "connection_id");
CREATE UNIQUE INDEX "connection_domains_live_domain_key" ON "connection_domains"("domain") WHERE "live_since" IS NOT NULL;

-- When a test sign-in through the connection last succeeded.
ALTER TABLE "connections" ADD COLUMN "tried_at" TIMESTAMPTZ(3);

-- Whether an email asks for a new password. The serving role may not always read the hash.
ALTER TABLE "users" ADD COLUMN "has_password" BOOLEAN GENERATED ALWAYS AS ("password_hash" IS NOT NULL) STORED;
