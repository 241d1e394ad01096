-- Subjects that are email addresses are found in any letter case. The collation C folds A–Z only.
CREATE INDEX "identities_folded_subject_idx" ON "identities"("connection_id", "issuer", lower("subject" COLLATE "C"));
