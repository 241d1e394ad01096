-- So that hundreds of mails of one site do not delay those of others: mails with a lower turn are sent first.
ALTER TABLE "mails" ADD COLUMN "turn" INTEGER NOT NULL DEFAULT 0;
