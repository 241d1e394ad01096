CREATE TABLE "passkeys" (
    "credential_id" BYTEA NOT NULL,
    "id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "public_key" BYTEA NOT NULL,
    "sign_count" BIGINT NOT NULL,
    "backup_eligible" BOOLEAN NOT NULL,
    "backed_up" BOOLEAN NOT NULL,
    "transports" TEXT[],
    "aaguid" UUID NOT NULL,
    "name" TEXT,
    "device" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_used_at" TIMESTAMPTZ(3),

    CONSTRAINT "passkeys_pkey" PRIMARY KEY ("credential_id"),
    -- WebAuthn §5.8.3
    CONSTRAINT "passkeys_credential_id_has_valid_length" CHECK (octet_length("credential_id") BETWEEN 1 AND 1023)
);
CREATE UNIQUE INDEX "passkeys_id_key" ON "passkeys"("id");
CREATE INDEX "passkeys_user_id_idx" ON "passkeys"("user_id");
ALTER TABLE "passkeys" ADD CONSTRAINT "passkeys_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- How a session began.
ALTER TABLE "sessions" DROP CONSTRAINT "sessions_method_is_known";
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_method_is_known" CHECK ("method" IN ('password', 'passkey', 'sso', 'code'));
