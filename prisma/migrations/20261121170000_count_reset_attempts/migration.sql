-- Judging and hashing a password is expensive: a token allows a limited number of attempts. The default lets the earlier
-- version, which does not know the column, go on issuing tokens.
ALTER TABLE "reset_tokens" ADD COLUMN "attempts" INTEGER NOT NULL DEFAULT 0;
