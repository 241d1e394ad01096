-- Only names change. The version before this one can't run with them.
ALTER TABLE "sign_ins" RENAME TO "sso_attempts";
ALTER TABLE "sso_attempts" RENAME CONSTRAINT "sign_ins_pkey" TO "sso_attempts_pkey";
ALTER TABLE "sso_attempts" RENAME CONSTRAINT "sign_ins_connection_id_fkey" TO "sso_attempts_connection_id_fkey";
ALTER TABLE "sso_attempts" RENAME CONSTRAINT "sign_ins_state_hash_is_sha256" TO "sso_attempts_state_hash_is_sha256";
ALTER TABLE "sso_attempts" RENAME CONSTRAINT "sign_ins_browser_hash_is_sha256" TO "sso_attempts_browser_hash_is_sha256";
ALTER INDEX "sign_ins_expires_at_idx" RENAME TO "sso_attempts_expires_at_idx";
ALTER INDEX "sign_ins_connection_id_browser_hash_created_at_idx" RENAME TO "sso_attempts_connection_id_browser_hash_created_at_idx";

ALTER TABLE "mails" RENAME COLUMN "turn" TO "priority";
