-- Null: an operator unlinked the subject, which is rejected until it is linked. The earlier version fails to link it.
ALTER TABLE "identities" ALTER COLUMN "user_id" DROP NOT NULL;
