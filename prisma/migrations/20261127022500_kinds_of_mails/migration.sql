-- lib/mail/kinds.ts knows the kinds: a new kind needs no migration.
ALTER TABLE "mails" DROP CONSTRAINT "mails_kind_is_known";
