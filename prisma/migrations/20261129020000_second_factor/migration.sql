ALTER TABLE "users" ADD COLUMN "second_factor_at" TIMESTAMPTZ(3);

CREATE TABLE "second_factors" (
    "user_id" UUID NOT NULL,
    "encrypted_secret" TEXT NOT NULL,
    "last_step" INTEGER NOT NULL,
    "failures" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "second_factors_pkey" PRIMARY KEY ("user_id"),
    CONSTRAINT "second_factors_failures_are_bounded" CHECK ("failures" BETWEEN 0 AND 100)
);
ALTER TABLE "second_factors" ADD CONSTRAINT "second_factors_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

CREATE TABLE "recovery_codes" (
    "user_id" UUID NOT NULL,
    "code_hash" BYTEA NOT NULL,
    "used_at" TIMESTAMPTZ(3),

    CONSTRAINT "recovery_codes_pkey" PRIMARY KEY ("user_id", "code_hash"),
    CONSTRAINT "recovery_codes_hash_is_sha256" CHECK (octet_length("code_hash") = 32)
);
ALTER TABLE "recovery_codes" ADD CONSTRAINT "recovery_codes_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;
