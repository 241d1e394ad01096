-- To find the recent sign-ins of one browser, however many old ones it has. The new index serves the old one's queries too.
CREATE INDEX "sign_ins_connection_id_browser_hash_created_at_idx" ON "sign_ins"("connection_id", "browser_hash", "created_at");
DROP INDEX "sign_ins_connection_id_browser_hash_idx";
