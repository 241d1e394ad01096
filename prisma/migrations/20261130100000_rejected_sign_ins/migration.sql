-- Whether an attempt is a test, which signs nobody in, and the issuer of the connection when the attempt began.
ALTER TABLE "sso_attempts" ADD COLUMN "is_try" BOOLEAN NOT NULL DEFAULT false;
ALTER TABLE "sso_attempts" ADD COLUMN "issuer" TEXT;

CREATE TABLE "rejected_sign_ins" (
    "connection_id" UUID NOT NULL,
    "issuer" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "email" TEXT,
    "reason" TEXT NOT NULL,
    "count" INTEGER NOT NULL DEFAULT 1,
    "last_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "rejected_sign_ins_pkey" PRIMARY KEY ("connection_id", "issuer", "subject")
);

CREATE INDEX "rejected_sign_ins_connection_id_last_at_idx" ON "rejected_sign_ins"("connection_id", "last_at");
CREATE INDEX "rejected_sign_ins_last_at_idx" ON "rejected_sign_ins"("last_at");

ALTER TABLE "rejected_sign_ins" ADD CONSTRAINT "rejected_sign_ins_connection_id_fkey" FOREIGN KEY ("connection_id") REFERENCES "connections"("id") ON DELETE CASCADE ON UPDATE CASCADE;
