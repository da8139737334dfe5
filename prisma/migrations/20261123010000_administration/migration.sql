-- AlterTable
ALTER TABLE "users" ADD COLUMN     "deleted_at" TIMESTAMPTZ(3),
ADD COLUMN     "tokens_valid_from" TIMESTAMPTZ(3),
ALTER COLUMN "email_key" DROP NOT NULL;

-- AlterTable
ALTER TABLE "stream_tokens" ADD COLUMN     "credential_issued_at" TIMESTAMPTZ(3);

-- Whatever ends credentials tells every instance, which then checks the event streams that depend on the id in the
-- payload: of an account, an OAuth client or a token. Triggers, so that no command can forget it. PostgreSQL sends the
-- notifications of a transaction when it commits, and equal ones once. Rows that have expired end nothing when they are
-- deleted.
CREATE FUNCTION credentials_ended() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE "ended" jsonb := to_jsonb(CASE WHEN TG_OP = 'INSERT' THEN NEW ELSE OLD END);
BEGIN
  PERFORM pg_notify('content_graph_credentials', "ended" ->> TG_ARGV[0]);
  RETURN NULL;
END $$;

-- The clients of an account act for other accounts, too.
CREATE FUNCTION account_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('content_graph_credentials', OLD."id"::text);
  PERFORM pg_notify('content_graph_credentials', "id"::text) FROM "oauth_clients" WHERE "owner_id" = OLD."id";
  RETURN NULL;
END $$;

-- An authorization belongs to a user by its grant. If that is gone, it has told of its own end.
CREATE FUNCTION authorization_ended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('content_graph_credentials', "user_id"::text) FROM "oauth_grants" WHERE "id" = OLD."grant_id";
  RETURN NULL;
END $$;

CREATE TRIGGER "users_changed" AFTER UPDATE OF "disabled_at", "role", "password_hash", "tokens_valid_from" ON "users"
  FOR EACH ROW WHEN ((OLD."disabled_at", OLD."role", OLD."password_hash", OLD."tokens_valid_from")
    IS DISTINCT FROM (NEW."disabled_at", NEW."role", NEW."password_hash", NEW."tokens_valid_from"))
  EXECUTE FUNCTION account_changed();
CREATE TRIGGER "users_deleted" AFTER DELETE ON "users"
  FOR EACH ROW EXECUTE FUNCTION credentials_ended('id');
CREATE TRIGGER "sessions_ended" AFTER DELETE ON "sessions"
  FOR EACH ROW WHEN (OLD."expires_at" > now()) EXECUTE FUNCTION credentials_ended('user_id');
CREATE TRIGGER "stream_tokens_ended" AFTER DELETE ON "stream_tokens"
  FOR EACH ROW WHEN (OLD."expires_at" > now()) EXECUTE FUNCTION credentials_ended('user_id');
CREATE TRIGGER "api_keys_revoked" AFTER UPDATE OF "revoked_at" ON "api_keys"
  FOR EACH ROW WHEN (OLD."revoked_at" IS NULL AND NEW."revoked_at" IS NOT NULL)
  EXECUTE FUNCTION credentials_ended('user_id');
CREATE TRIGGER "api_keys_deleted" AFTER DELETE ON "api_keys"
  FOR EACH ROW WHEN (OLD."revoked_at" IS NULL) EXECUTE FUNCTION credentials_ended('user_id');
CREATE TRIGGER "oauth_grants_ended" AFTER DELETE ON "oauth_grants"
  FOR EACH ROW EXECUTE FUNCTION credentials_ended('user_id');
CREATE TRIGGER "oauth_clients_deleted" AFTER DELETE ON "oauth_clients"
  FOR EACH ROW EXECUTE FUNCTION credentials_ended('id');
CREATE TRIGGER "oauth_authorizations_ended" AFTER DELETE ON "oauth_records"
  FOR EACH ROW WHEN (OLD."model" = 'Grant' AND OLD."expires_at" > now()) EXECUTE FUNCTION authorization_ended();
CREATE TRIGGER "tokens_revoked" AFTER INSERT ON "revoked_tokens"
  FOR EACH ROW EXECUTE FUNCTION credentials_ended('jti');
