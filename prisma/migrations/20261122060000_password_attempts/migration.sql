-- Counters of password sign-ins, by keyed hashes of account and network. Not a reference to users: unknown accounts are
-- counted alike.
CREATE TABLE "password_attempts" (
    "key_hash" BYTEA NOT NULL,
    "count" INTEGER NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "password_attempts_pkey" PRIMARY KEY ("key_hash"),
    CONSTRAINT "password_attempts_key_hash_is_sha256" CHECK (octet_length("key_hash") = 32),
    CONSTRAINT "password_attempts_count_is_not_negative" CHECK ("count" >= 0)
);

-- CreateIndex
CREATE INDEX "password_attempts_expires_at_idx" ON "password_attempts"("expires_at");
