ALTER TABLE "sessions" ADD COLUMN "device" TEXT;
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_device_is_short" CHECK ("device" ~ '^[A-Za-z ]{1,40}$');

ALTER TABLE "mails" ADD COLUMN "former_email" TEXT;
