-- To find the live sessions of one user in order, however many ended ones the user has. The new index serves the old
-- one's queries too.
CREATE INDEX "sessions_user_id_revoked_at_created_at_idx" ON "sessions"("user_id", "revoked_at", "created_at");
DROP INDEX "sessions_user_id_idx";
