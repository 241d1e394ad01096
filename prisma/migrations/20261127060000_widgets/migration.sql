CREATE TABLE "widgets" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "slug" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "disabled_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "widgets_pkey" PRIMARY KEY ("id")
);
CREATE TABLE "widget_origins" (
    "widget_id" UUID NOT NULL,
    "origin" TEXT NOT NULL,
    CONSTRAINT "widget_origins_pkey" PRIMARY KEY ("widget_id","origin")
);
CREATE TABLE "widget_tokens" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "widget_id" UUID NOT NULL,
    "token_hash" BYTEA NOT NULL,
    "hint" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),
    CONSTRAINT "widget_tokens_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "widgets_slug_key" ON "widgets"("slug");
CREATE UNIQUE INDEX "widget_tokens_token_hash_key" ON "widget_tokens"("token_hash");
CREATE INDEX "widget_tokens_widget_id_idx" ON "widget_tokens"("widget_id");
ALTER TABLE "widget_origins" ADD CONSTRAINT "widget_origins_widget_id_fkey" FOREIGN KEY ("widget_id") REFERENCES "widgets"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "widget_tokens" ADD CONSTRAINT "widget_tokens_widget_id_fkey" FOREIGN KEY ("widget_id") REFERENCES "widgets"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "widget_tokens" ADD CONSTRAINT "widget_tokens_token_hash_is_sha256" CHECK (octet_length("token_hash") = 32);
