-- PostgreSQL can't convert a domain to ASCII: prisma/migrate.ts makes pg_temp.ascii_domains for this migration.
ALTER TABLE "users" ADD COLUMN "email_domain" TEXT, ADD COLUMN "password_policy" TEXT;
UPDATE "users" SET "email_domain" = coalesce(
  (SELECT "ascii" FROM pg_temp.ascii_domains WHERE "domain" = substring("email" FROM '[^@]*$')),
  substring("email" FROM '[^@]*$'));
CREATE INDEX "users_email_domain_id_idx" ON "users"("email_domain", "id");

CREATE TEMPORARY TABLE "sso_domains" AS
  SELECT "domain" FROM "connection_domains" JOIN "connections" ON "connections"."id" = "connection_id" WHERE NOT "allow_passwords";
UPDATE "users" SET "password_policy" = 'never' WHERE "sso_only" AND "email_domain" NOT IN (SELECT "domain" FROM "sso_domains");
DO $$
DECLARE
  address TEXT;
BEGIN
  FOR address IN
    SELECT "email" FROM "users"
    WHERE "password_hash" IS NOT NULL AND NOT "sso_only" AND "email_domain" IN (SELECT "domain" FROM "sso_domains")
    ORDER BY "email"
  LOOP
    RAISE WARNING '% can no longer use a password. To allow it: npm run users -- allow-password %', address, address;
  END LOOP;
END $$;
DROP TABLE "sso_domains";

ALTER TABLE "users" DROP COLUMN "sso_only", ALTER COLUMN "email_domain" SET NOT NULL;
ALTER TABLE "users" ADD CONSTRAINT "users_password_policy_is_known" CHECK ("password_policy" IN ('allowed', 'never'));
-- The code that writes the address writes its domain. Only a domain in Unicode differs from what the address ends with.
ALTER TABLE "users" ADD CONSTRAINT "users_email_domain_is_of_email" CHECK (
  "email_domain" = substring("email" FROM '[^@]*$') OR substring("email" FROM '[^@]*$') ~ '[^ -~]');
