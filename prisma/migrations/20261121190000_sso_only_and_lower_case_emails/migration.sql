-- A plain unique column instead of an index on an expression: Prisma can look a user up by it.
UPDATE "users" SET "email" = lower("email") WHERE "email" <> lower("email");
ALTER TABLE "users" ADD CONSTRAINT "users_email_is_lower_case" CHECK ("email" = lower("email"));
DROP INDEX "users_email_key";
CREATE UNIQUE INDEX "users_email_key" ON "users"("email");

ALTER TABLE "users" RENAME COLUMN "password_barred" TO "sso_only";
