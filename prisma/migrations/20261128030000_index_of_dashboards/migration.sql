-- Only sessions of dashboards have a parent. Others, which are most, need no entry.
DROP INDEX "sessions_parent_id_redirect_uri_key";
CREATE UNIQUE INDEX "sessions_parent_id_redirect_uri_key" ON "sessions"("parent_id", "redirect_uri") WHERE "parent_id" IS NOT NULL;
