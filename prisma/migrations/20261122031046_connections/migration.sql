-- Sign-in through an identity provider. The earlier version does not know these columns, and leaves them null.
ALTER TABLE "exchange_codes" ADD COLUMN "connection_id" UUID;
ALTER TABLE "sessions" ADD COLUMN "connection_id" UUID;

-- CreateTable
CREATE TABLE "connections" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "slug" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "settings" JSONB NOT NULL,
    "sealed_secrets" TEXT,
    "provision" BOOLEAN NOT NULL DEFAULT false,
    "listed" BOOLEAN NOT NULL DEFAULT false,
    "allow_passwords" BOOLEAN NOT NULL DEFAULT false,
    "disabled_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "connections_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "connections_slug_is_a_path_segment" CHECK ("slug" ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
    CONSTRAINT "connections_kind_is_known" CHECK ("kind" IN ('oidc')),
    CONSTRAINT "connections_settings_is_an_object" CHECK (jsonb_typeof("settings") = 'object')
);

-- CreateTable
CREATE TABLE "connection_domains" (
    "domain" TEXT NOT NULL,
    "connection_id" UUID NOT NULL,

    CONSTRAINT "connection_domains_pkey" PRIMARY KEY ("domain"),
    CONSTRAINT "connection_domains_domain_is_ascii" CHECK ("domain" ~ '^[a-z0-9-]+(\.[a-z0-9-]+)+$')
);

-- CreateTable
CREATE TABLE "identities" (
    "connection_id" UUID NOT NULL,
    "issuer" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "user_id" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "identities_pkey" PRIMARY KEY ("connection_id","issuer","subject"),
    CONSTRAINT "identities_subject_is_not_empty" CHECK ("subject" <> '' AND "issuer" <> '')
);

-- CreateTable
CREATE TABLE "sign_ins" (
    "state_hash" BYTEA NOT NULL,
    "connection_id" UUID NOT NULL,
    "browser_hash" BYTEA NOT NULL,
    "next" TEXT,
    "kid" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "claimed_at" TIMESTAMPTZ(3),

    CONSTRAINT "sign_ins_pkey" PRIMARY KEY ("state_hash"),
    CONSTRAINT "sign_ins_state_hash_is_sha256" CHECK (octet_length("state_hash") = 32),
    CONSTRAINT "sign_ins_browser_hash_is_sha256" CHECK (octet_length("browser_hash") = 32)
);

-- CreateIndex
CREATE UNIQUE INDEX "connections_slug_key" ON "connections"("slug");

-- CreateIndex
CREATE INDEX "connection_domains_connection_id_idx" ON "connection_domains"("connection_id");

-- CreateIndex
CREATE UNIQUE INDEX "identities_user_id_connection_id_key" ON "identities"("user_id", "connection_id");

-- CreateIndex
CREATE INDEX "sign_ins_connection_id_idx" ON "sign_ins"("connection_id");

-- CreateIndex
CREATE INDEX "sign_ins_expires_at_idx" ON "sign_ins"("expires_at");

-- AddForeignKey
ALTER TABLE "connection_domains" ADD CONSTRAINT "connection_domains_connection_id_fkey" FOREIGN KEY ("connection_id") REFERENCES "connections"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "identities" ADD CONSTRAINT "identities_connection_id_fkey" FOREIGN KEY ("connection_id") REFERENCES "connections"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "identities" ADD CONSTRAINT "identities_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "sign_ins" ADD CONSTRAINT "sign_ins_connection_id_fkey" FOREIGN KEY ("connection_id") REFERENCES "connections"("id") ON DELETE CASCADE ON UPDATE CASCADE;
