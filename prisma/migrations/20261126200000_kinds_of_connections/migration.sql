-- lib/sso/kinds.ts knows the kinds, and every connection is checked by it: a new kind needs no migration.
ALTER TABLE "connections" DROP CONSTRAINT "connections_kind_is_known";
