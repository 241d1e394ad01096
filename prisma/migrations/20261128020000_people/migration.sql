ALTER TABLE "sessions" ADD COLUMN "device" TEXT;
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_device_is_short" CHECK ("device" ~ '^[A-Za-z ]{1,40}$');

ALTER TABLE "mails" ADD COLUMN "former_email" TEXT;

ALTER TABLE "connections" ADD COLUMN "session_hours" INTEGER;
ALTER TABLE "connections" ADD CONSTRAINT "connections_session_hours_are_of_a_week" CHECK ("session_hours" BETWEEN 1 AND 168);
