-- The outbox of e-mails. It holds no secret and no address: the token is issued, and the address read, when a mail is
-- sent. Only a mail that is still to be sent has a due time.
CREATE TABLE "mails" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "kind" TEXT NOT NULL,
    "user_id" UUID NOT NULL,
    "language" TEXT NOT NULL,
    "device" TEXT,
    "requested_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "due_at" TIMESTAMPTZ(3) DEFAULT CURRENT_TIMESTAMP,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "sent_at" TIMESTAMPTZ(3),
    "gave_up_at" TIMESTAMPTZ(3),

    CONSTRAINT "mails_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "mails_kind_is_known" CHECK ("kind" IN ('reset', 'password-changed')),
    CONSTRAINT "mails_language_is_a_tag" CHECK ("language" ~ '^[a-z]{2,3}$'),
    -- words of ours, such as "Firefox on Windows": never text of a client
    CONSTRAINT "mails_device_is_short" CHECK ("device" ~ '^[A-Za-z ]{1,40}$'),
    CONSTRAINT "mails_attempts_are_counted" CHECK ("attempts" >= 0),
    CONSTRAINT "mails_due_until_the_end" CHECK (num_nonnulls("due_at", "sent_at", "gave_up_at") = 1)
);

-- CreateIndex
CREATE INDEX "mails_user_id_requested_at_idx" ON "mails"("user_id", "requested_at");

-- CreateIndex
CREATE INDEX "mails_due_at_idx" ON "mails"("due_at");

-- CreateIndex
CREATE INDEX "mails_requested_at_idx" ON "mails"("requested_at");

-- AddForeignKey
ALTER TABLE "mails" ADD CONSTRAINT "mails_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;
