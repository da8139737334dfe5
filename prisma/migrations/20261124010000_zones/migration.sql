-- Earlier versions wrote some instants as local times of the database's zone (docs/decisions/0028-session-settings.md). What can
-- be known of that is put right.

-- The tags of a post are dated like the post.
UPDATE "tags" SET "created_at" = "posts"."created_at" FROM "posts"
WHERE "posts"."id" = "tags"."post_id" AND "tags"."created_at" <> "posts"."created_at";

-- The id of a row tells when it was made (RFC 9562 section 5.7). Where it is the zone that keeps the two apart, the row was written
-- so, and with it the end that its maker has set.
SELECT set_config('content_graph.zone', "reset_val", true) FROM "pg_settings" WHERE "name" = 'TimeZone';
CREATE FUNCTION pg_temp.as_utc("at" timestamptz) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT "at" AT TIME ZONE current_setting('content_graph.zone') AT TIME ZONE 'UTC'
$$;
CREATE FUNCTION pg_temp.near_its_id("at" timestamptz, "id" uuid) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT abs(extract(epoch FROM "at") - ('x' || left(replace("id"::text, '-', ''), 12))::bit(48)::bigint / 1000.0) < 300
$$;
CREATE FUNCTION pg_temp.was_local("at" timestamptz, "id" uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT NOT pg_temp.near_its_id("at", "id") AND pg_temp.near_its_id(pg_temp.as_utc("at"), "id")
$$;
UPDATE "users" SET "created_at" = pg_temp.as_utc("created_at") WHERE pg_temp.was_local("created_at", "id");
UPDATE "oauth_clients" SET "created_at" = pg_temp.as_utc("created_at") WHERE pg_temp.was_local("created_at", "id");
UPDATE "api_keys" SET "created_at" = pg_temp.as_utc("created_at"), "expires_at" = pg_temp.as_utc("expires_at")
WHERE pg_temp.was_local("created_at", "id");

-- When a token was revoked cannot be known, so its entry is kept for the longer time: none that was revoked is accepted again.
UPDATE "revoked_tokens" SET "expires_at" = pg_temp.as_utc("expires_at") WHERE pg_temp.as_utc("expires_at") > "expires_at";

DROP FUNCTION pg_temp.was_local(timestamptz, uuid);
DROP FUNCTION pg_temp.near_its_id(timestamptz, uuid);
DROP FUNCTION pg_temp.as_utc(timestamptz);
