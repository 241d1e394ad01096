CREATE TABLE "events" (
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    -- The sequence of an identity needs no grant.
    "id" BIGINT GENERATED ALWAYS AS IDENTITY,
    "kind" TEXT NOT NULL,
    "actor" TEXT NOT NULL,
    "operator" TEXT,
    "command" TEXT,
    "user_id" UUID,
    "session_id" UUID,
    "method" TEXT,
    "connection_id" UUID,
    "client_id" UUID,
    "widget_id" UUID,
    "slug" TEXT,
    "changed" TEXT[],
    "count" INTEGER,
    "check" TEXT,
    "device" TEXT,
    "network" TEXT,
    "request_id" TEXT,

    CONSTRAINT "events_pkey" PRIMARY KEY ("at", "id"),
    CONSTRAINT "events_actor_is_known" CHECK ("actor" IN ('user', 'operator', 'provider', 'directory', 'client', 'setup-link', 'clean-up'))
);
-- Not partial, so that the event of a failed sign-in is as much work for an unknown user.
CREATE INDEX "events_user_id_at_idx" ON "events"("user_id", "at");
-- Partial, because each index costs processor time at every sign-in.
CREATE INDEX "events_connection_id_at_idx" ON "events"("connection_id", "at") WHERE "connection_id" IS NOT NULL;

-- The only way in which the serving role deletes events. It keeps those of the past 30 days, whatever it is given.
-- With the rights of the owner, it must find the table of the schema public only.
CREATE FUNCTION "delete_events"("keep_days" INTEGER, "most" INTEGER) RETURNS INTEGER
LANGUAGE sql STRICT SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    WITH deleted AS (
        DELETE FROM public.events WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM public.events WHERE "at" < now() - make_interval(days => greatest(keep_days, 30))
            ORDER BY "at" LIMIT most FOR UPDATE SKIP LOCKED))
        RETURNING 1
    )
    SELECT count(*)::integer FROM deleted
$$;
REVOKE ALL ON FUNCTION "delete_events"(INTEGER, INTEGER) FROM PUBLIC;

-- A code of an operator, and the session that it starts. The name of the operator, or an empty text.
ALTER TABLE "exchange_codes" ADD COLUMN "operator" TEXT;
ALTER TABLE "sessions" DROP CONSTRAINT "sessions_method_is_known";
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_method_is_known" CHECK ("method" IN ('password', 'passkey', 'sso', 'code', 'operator'));
