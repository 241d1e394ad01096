-- To find the sign-ins of one browser, however many a connection has. The new index serves the old one's queries too.
CREATE INDEX "sign_ins_connection_id_browser_hash_idx" ON "sign_ins"("connection_id", "browser_hash");
DROP INDEX "sign_ins_connection_id_idx";
