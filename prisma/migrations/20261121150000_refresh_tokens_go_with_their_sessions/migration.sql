-- The clean-up deletes sessions, and with them go their refresh tokens, which never outlive them by a week.
DROP INDEX "refresh_tokens_expires_at_idx";
