-- The IT administrator of a customer enters the values of a connection with a link.
CREATE TABLE "setup_links" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "connection_id" UUID NOT NULL,
    "secret_hash" BYTEA NOT NULL,
    "may_activate" BOOLEAN NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "changed_at" TIMESTAMPTZ(3),
    "tried_at" TIMESTAMPTZ(3),
    "tried_as" TEXT,
    "ended_at" TIMESTAMPTZ(3),

    CONSTRAINT "setup_links_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "setup_links_secret_hash_is_sha256" CHECK (octet_length("secret_hash") = 32)
);
CREATE UNIQUE INDEX "setup_links_secret_hash_key" ON "setup_links"("secret_hash");
CREATE INDEX "setup_links_connection_id_idx" ON "setup_links"("connection_id");
CREATE INDEX "setup_links_expires_at_idx" ON "setup_links"("expires_at");
-- A new link ends the earlier one.
CREATE UNIQUE INDEX "setup_links_live_key" ON "setup_links"("connection_id") WHERE "ended_at" IS NULL;
ALTER TABLE "setup_links" ADD CONSTRAINT "setup_links_connection_id_fkey" FOREIGN KEY ("connection_id") REFERENCES "connections"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- The link with which a test began, which stores the result. No foreign key, so that no sign-in locks a link.
ALTER TABLE "sso_attempts" ADD COLUMN "setup_link_id" UUID;
