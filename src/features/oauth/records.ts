import type { AdapterPayload } from 'oidc-provider';
import { hashSecret } from '../../auth/secrets.ts';
import { deletion } from '../../database/jobs.ts';
import { type Queryable, statement } from '../../database/statement.ts';

/**
 * An authorization outlasts its refresh token by this much. Without one it lasts this long in all, which is longer than
 * the tokens issued for its code.
 */
const AUTHORIZATION_LEFT_SECONDS = 3_600;
/** How long a refresh token lasts (contract section 3). */
export const REFRESH_TOKEN_SECONDS = 30 * 86_400;
/** A used code is retained as long as the refresh tokens issued for it can last, because a second use of it revokes them. */
const USED_CODE_SECONDS = REFRESH_TOKEN_SECONDS;
/** Limit of pending sign-ins from one address: each takes a few kilobytes for an hour. */
const MAX_OF_AN_ORIGIN = 100;
/** Authorizations of a client for a user, such as their devices. Each may last for good if it is used. */
const MAX_AUTHORIZATIONS = 100;
/**
 * Used refresh tokens are kept, because a second use of one revokes its authorization. A client that refreshes whenever its
 * access token has expired uses about this many in the 30 days that a refresh token lasts.
 */
const MAX_OF_AN_AUTHORIZATION = 3_000;
/** Replaces the id where the payload repeats it. */
const ID_MARK = '{id}';

interface Row {
  readonly payload: AdapterPayload;
  readonly consumedAt: Date | null;
  /** Time to expiry, by the database's clock. */
  readonly secondsLeft: number;
}

/** SQL for `seconds` seconds from now, by the database's clock. */
const after = (seconds: string) => `now() + ${seconds}::float8 * interval '1 second'`;

const COLUMNS =
  'payload, consumed_at AS "consumedAt", extract(epoch FROM expires_at - now())::float8 AS "secondsLeft"';
const FIND = statement<Row>(
  'oauth_record',
  `SELECT ${COLUMNS} FROM oauth_records WHERE model = $1 AND hash = $2 AND expires_at > now()`,
);
/** Rows of a model that are too many, oldest first, except those that another request is removing. */
const surplus = (oldest: string) => `SELECT hash FROM oauth_records WHERE model = $1 AND hash IN (${oldest})
       FOR UPDATE SKIP LOCKED`;
/** Inserts a row and removes the oldest of its family to make room for it. Without a family, none is removed. */
const INSERT_NEWEST = `WITH removed AS (
     DELETE FROM oauth_records WHERE model = $1 AND hash IN (
       ${surplus('SELECT hash FROM oauth_records WHERE model = $1 AND family = $4 ORDER BY expires_at DESC OFFSET $6')}
     )
   )
   INSERT INTO oauth_records (model, hash, payload, family, expires_at) VALUES ($1, $2, $3::json, $4, ${after('$5')})`;
const UPSERT = statement<never>(
  'oauth_record_upsert',
  `${INSERT_NEWEST} ON CONFLICT (model, hash) DO UPDATE SET payload = excluded.payload, expires_at = excluded.expires_at`,
);
const INSERT_FROM = statement<never>('oauth_record_insert_from', INSERT_NEWEST);
const UPDATE = statement<{ one: number }>(
  'oauth_record_update',
  `UPDATE oauth_records SET payload = $3::json, expires_at = ${after('$4')} WHERE model = $1 AND hash = $2 RETURNING 1 AS one`,
);
/** When an authorization was used last. One that gave a refresh token lasts longer from then on. */
const LAST_USED = `r.expires_at - CASE WHEN r.expires_at > now() + $6::float8 * interval '1 second'
         THEN $7::float8 * interval '1 second' ELSE interval '0' END`;
/**
 * An authorization depends on the grant of the user: if that is gone meanwhile, nothing is stored. Those used longest
 * ago end with everything that belongs to them.
 */
const UPSERT_AUTHORIZATION = statement<never>(
  'oauth_authorization_upsert',
  `WITH given AS (
     SELECT id FROM oauth_grants WHERE user_id = $4 AND client_id = $5 FOR KEY SHARE
   ), ended AS (
     DELETE FROM oauth_records WHERE model = $1 AND hash IN (
       ${surplus(`SELECT r.hash FROM oauth_records r JOIN given g ON g.id = r.grant_id
         WHERE r.model = $1 AND r.hash <> $2 ORDER BY ${LAST_USED} DESC OFFSET $8`)}
     ) RETURNING hash
   ), removed AS (
     DELETE FROM oauth_records WHERE family IN (SELECT hash FROM ended)
   )
   INSERT INTO oauth_records (model, hash, payload, grant_id, expires_at)
   SELECT $1, $2, $3::json, id, ${after('$6')} FROM given
   ON CONFLICT (model, hash) DO UPDATE SET payload = excluded.payload`,
);
const PROLONG_AUTHORIZATION = statement<never>(
  'oauth_authorization_prolong',
  `UPDATE oauth_records SET expires_at = GREATEST(expires_at, ${after('$2')}) WHERE model = 'Grant' AND hash = $1`,
);
const CONSUME = statement<{ one: number }>(
  'oauth_record_consume',
  `UPDATE oauth_records SET consumed_at = now(), expires_at = GREATEST(expires_at, ${after('$3')}) WHERE model = $1 AND hash = $2 AND consumed_at IS NULL
   RETURNING 1 AS one`,
);
const DESTROY = statement<{ one: number }>(
  'oauth_record_destroy',
  'DELETE FROM oauth_records WHERE model = $1 AND hash = $2 RETURNING 1 AS one',
);
const END_FAMILY = statement<never>(
  'oauth_family_end',
  `DELETE FROM oauth_records WHERE family = $1 OR (model = 'Grant' AND hash = $1)`,
);
const END_FAMILY_OF = statement<never>(
  'oauth_family_end_of',
  `DELETE FROM oauth_records WHERE family = (SELECT family FROM oauth_records WHERE model = $1 AND hash = $2)
     OR (model = 'Grant' AND hash = (SELECT family FROM oauth_records WHERE model = $1 AND hash = $2))`,
);

/** The payload without its id, wherever it occurs. */
function withoutId(payload: AdapterPayload, id: string): string {
  const { jti, consumed, returnTo, ...rest } = payload;
  return JSON.stringify({
    ...rest,
    ...(returnTo === undefined ? {} : { returnTo: returnTo.replaceAll(id, ID_MARK) }),
  });
}

/** `exp` is by the clock of this instance, since the library compares it with that clock. */
function withId(model: string, { payload, consumedAt, secondsLeft }: Row, id: string): AdapterPayload {
  const { returnTo } = payload;
  const exp = Math.floor(Date.now() / 1000 + secondsLeft);
  return {
    ...payload,
    jti: id,
    ...(payload.exp === undefined || model === 'Grant' ? {} : { exp }),
    ...(returnTo === undefined ? {} : { returnTo: returnTo.replaceAll(ID_MARK, id) }),
    // The library would not notice that an expired code was used.
    ...(consumedAt === null ? {} : { consumed: Math.floor(consumedAt.getTime() / 1000), exp }),
  };
}

/**
 * The records of one model. The stored form never grants access: ids are codes and tokens, so they are stored as hashes and
 * removed from the payload, which gets its id back when read. Every method throws DatabaseError.
 */
export function createRecords(db: Queryable, model: string) {
  return {
    async find(id: string): Promise<AdapterPayload | undefined> {
      const [row] = await db.query(FIND, [model, hashSecret(id)]);
      return row && withId(model, row, id);
    },
    /**
     * Stores a record. Anybody can create one with an `origin`: the newest 100 of an origin are kept, and more only if they
     * are created concurrently.
     */
    async upsert(
      id: string,
      payload: AdapterPayload,
      expiresInSeconds: number,
      origin?: string,
    ): Promise<void> {
      const body = withoutId(payload, id);
      const { accountId = null, clientId = null, grantId } = payload;
      if (model === 'Grant') {
        await db.query(UPSERT_AUTHORIZATION, [
          model,
          hashSecret(id),
          body,
          accountId,
          clientId,
          AUTHORIZATION_LEFT_SECONDS,
          REFRESH_TOKEN_SECONDS,
          MAX_AUTHORIZATIONS - 1,
        ]);
        return;
      }
      // The authorization comes first: a crash in between makes it last slightly too long, but leaves no
      // token without one.
      if (model === 'RefreshToken' && grantId !== undefined)
        await db.query(PROLONG_AUTHORIZATION, [
          hashSecret(grantId),
          expiresInSeconds + AUTHORIZATION_LEFT_SECONDS,
        ]);
      const family = origin ?? grantId;
      const most = origin === undefined ? MAX_OF_AN_AUTHORIZATION : MAX_OF_AN_ORIGIN;
      const values = [
        ...[model, hashSecret(id), body],
        ...[family === undefined ? null : hashSecret(family), expiresInSeconds, most - 1],
      ];
      await db.query(origin === undefined ? UPSERT : INSERT_FROM, values);
    },
    /** Updates a record. False if it is gone. */
    async update(id: string, payload: AdapterPayload, expiresInSeconds: number): Promise<boolean> {
      const values = [model, hashSecret(id), withoutId(payload, id), expiresInSeconds];
      return (await db.query(UPDATE, values)).length > 0;
    },
    /** False if it was consumed before: everything issued from it is revoked then. */
    async consume(id: string): Promise<boolean> {
      const keptSeconds = model === 'AuthorizationCode' ? USED_CODE_SECONDS : 0;
      const mine = (await db.query(CONSUME, [model, hashSecret(id), keptSeconds])).length > 0;
      if (!mine) await db.query(END_FAMILY_OF, [model, hashSecret(id)]);
      return mine;
    },
    /** False if it was already gone. */
    async destroy(id: string): Promise<boolean> {
      return (await db.query(DESTROY, [model, hashSecret(id)])).length > 0;
    },
    /** Revokes an authorization with everything that belongs to it. */
    async endFamily(grantId: string): Promise<void> {
      await db.query(END_FAMILY, [hashSecret(grantId)]);
    },
  };
}

/** Codes, refresh tokens, authorizations and sign-ins. */
export const expiredRecords = deletion('oauth_records', {
  table: 'oauth_records',
  key: 'model, hash',
  condition: 'expires_at <= now()',
});
