-- To find the codes of one user that have not expired, however many others the user has. The new index serves the old
-- one's queries too.
CREATE INDEX "exchange_codes_user_id_expires_at_idx" ON "exchange_codes"("user_id", "expires_at");
DROP INDEX "exchange_codes_user_id_idx";
