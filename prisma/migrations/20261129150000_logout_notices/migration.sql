ALTER TABLE "clients" ADD COLUMN "backchannel_logout_uri" TEXT;

-- No foreign key to clients, so that no statement locks a client.
CREATE TABLE "logout_notices" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "client_id" UUID NOT NULL,
    "session_id" UUID NOT NULL,
    "requested_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "due_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "attempts" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "logout_notices_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "logout_notices_due_at_idx" ON "logout_notices"("due_at");
CREATE INDEX "logout_notices_requested_at_idx" ON "logout_notices"("requested_at");
