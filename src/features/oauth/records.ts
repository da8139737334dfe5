import type { Adapter, AdapterPayload, errors } from 'oidc-provider';
import { hashSecret } from '../../auth/secrets.ts';
import { deletion } from '../../database/jobs.ts';
import { type Queryable, statement } from '../../database/statement.ts';

/**
 * An authorization outlasts its refresh token by this time. Without a refresh token, it lasts this time in
 * all, which is longer than the tokens issued for its code.
 */
const AUTHORIZATION_LEFT_SECONDS = 3_600;
export const REFRESH_TOKEN_SECONDS = 30 * 86_400;
/**
 * A used code is retained as long as its refresh tokens can last, because a second use of the code revokes
 * them.
 */
const USED_CODE_SECONDS = REFRESH_TOKEN_SECONDS;
/** Pending sign-ins from one IP address are limited, because each takes a few kilobytes for an hour. */
const MAX_OF_AN_ORIGIN = 100;
/**
 * Authorizations of a client for a user, such as the user's devices. An authorization in use may last
 * forever.
 */
const MAX_AUTHORIZATIONS = 100;
/**
 * Used refresh tokens are retained, because a second use of one revokes its authorization. A client that
 * refreshes at every expiry of its access token uses about this many in the 30 days of a refresh token.
 */
const MAX_OF_AN_AUTHORIZATION = 3_000;
/** This parameter of an authorization has the keyed hash of the IP address that began the authorization. */
export const ADDRESS = 'address';

interface Row {
  readonly payload: AdapterPayload;
  readonly consumedAt: Date | null;
  /** Seconds by the database's clock. */
  readonly secondsLeft: number;
}

const after = (seconds: string) => `now() + ${seconds}::float8 * interval '1 second'`;

const COLUMNS =
  'payload, consumed_at AS "consumedAt", extract(epoch FROM expires_at - now())::float8 AS "secondsLeft"';
const FIND = statement<Row>(
  'oauth_record',
  `SELECT ${COLUMNS} FROM oauth_records WHERE model = $1 AND hash = $2 AND expires_at > now()`,
);
/** The excess rows exclude rows that another request is deleting. */
const surplus = (oldest: string) => `SELECT hash FROM oauth_records WHERE model = $1 AND hash IN (${oldest})
       FOR UPDATE SKIP LOCKED`;
/** The oldest rows of the family make room for the new row. Without a family, no row is deleted. */
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
/**
 * The last use is computed from the expiry, which is later for an authorization that gave a refresh token.
 */
const LAST_USED = `r.expires_at - CASE WHEN r.expires_at > now() + $6::float8 * interval '1 second'
         THEN $7::float8 * interval '1 second' ELSE interval '0' END`;
/**
 * If the user's grant was revoked, nothing is stored. The authorizations with the oldest last use are deleted
 * with their records.
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

/** `returnTo` repeats the id, and the library does not need it to resume. */
function withoutId({ jti, consumed, returnTo, ...payload }: AdapterPayload): string {
  return JSON.stringify(payload);
}

/** `exp` uses this instance's clock, because the library compares it with that clock. */
function withId(model: string, { payload, consumedAt, secondsLeft }: Row, id: string): AdapterPayload {
  const exp = Math.floor(Date.now() / 1000 + secondsLeft);
  return {
    ...payload,
    jti: id,
    ...(payload.exp === undefined || model === 'Grant' ? {} : { exp }),
    // The library would not notice the second use of an expired code.
    ...(consumedAt === null ? {} : { consumed: Math.floor(consumedAt.getTime() / 1000), exp }),
  };
}

export interface RecordOptions {
  readonly database: Queryable;
  /**
   * Called before something is consumed.
   * @throws if the deadline has passed
   */
  readonly settle: () => void;
  /** Returns the result of the sign-in that the request finishes. */
  readonly finished: () => AdapterPayload | undefined;
}

/** A model of the library that is not stored. */
export const UNSTORED: Adapter = {
  upsert: async () => undefined,
  find: async () => undefined,
  findByUid: async () => undefined,
  findByUserCode: async () => undefined,
  consume: async () => undefined,
  destroy: async () => undefined,
  revokeByGrantId: async () => undefined,
};

/**
 * The stored form never grants access: ids are codes and tokens, so they are stored as hashes and removed
 * from the payload. A read restores the id. All methods throw DatabaseError.
 */
export function createRecords(
  model: string,
  { database, settle, finished }: RecordOptions,
  { InvalidGrant, SessionNotFound }: Pick<typeof errors, 'InvalidGrant' | 'SessionNotFound'>,
): Adapter {
  const createEndedError = () => new SessionNotFound('the sign-in has ended');

  /** Any client can begin an authorization. Concurrent inserts may exceed the limit of an origin. */
  async function storeInteraction(
    stored: readonly [string, Uint8Array, string],
    { params, result }: AdapterPayload,
    expiresInSeconds: number,
  ): Promise<void> {
    const origin = hashSecret(String(params?.[ADDRESS]));
    // A result may only update an existing sign-in. An insert would let a finished sign-in finish twice.
    if (result === undefined)
      await database.query(INSERT_FROM, [...stored, origin, expiresInSeconds, MAX_OF_AN_ORIGIN - 1]);
    else if ((await database.query(UPDATE, [...stored, expiresInSeconds])).length === 0)
      throw createEndedError();
  }

  return {
    ...UNSTORED,
    async find(id) {
      const [row] = await database.query(FIND, [model, hashSecret(id)]);
      return row && { ...withId(model, row, id), ...(model === 'Interaction' ? finished() : {}) };
    },
    async upsert(id, payload, expiresInSeconds = 0) {
      const stored = [model, hashSecret(id), withoutId(payload)] as const;
      if (model === 'Interaction') return storeInteraction(stored, payload, expiresInSeconds);
      const { accountId = null, clientId = null, grantId } = payload;
      if (model === 'Grant') {
        const bounds = [AUTHORIZATION_LEFT_SECONDS, REFRESH_TOKEN_SECONDS, MAX_AUTHORIZATIONS - 1];
        await database.query(UPSERT_AUTHORIZATION, [...stored, accountId, clientId, ...bounds]);
        return;
      }
      const family = grantId === undefined ? null : hashSecret(grantId);
      // The authorization is extended first. A crash in between makes it last slightly too long, but leaves
      // no token without an authorization.
      if (model === 'RefreshToken')
        await database.query(PROLONG_AUTHORIZATION, [family, expiresInSeconds + AUTHORIZATION_LEFT_SECONDS]);
      await database.query(UPSERT, [...stored, family, expiresInSeconds, MAX_OF_AN_AUTHORIZATION - 1]);
    },
    /** The library checks before it consumes, so two concurrent requests can both pass its check. */
    async consume(id) {
      settle();
      const keptSeconds = model === 'AuthorizationCode' ? USED_CODE_SECONDS : 0;
      if ((await database.query(CONSUME, [model, hashSecret(id), keptSeconds])).length > 0) return;
      await database.query(END_FAMILY_OF, [model, hashSecret(id)]);
      throw new InvalidGrant('it was already used');
    },
    async destroy(id) {
      settle();
      const isDestroyed = (await database.query(DESTROY, [model, hashSecret(id)])).length > 0;
      // A sign-in that finishes twice concurrently would yield two codes.
      if (!isDestroyed && model === 'Interaction') throw createEndedError();
    },
    async revokeByGrantId(grantId) {
      await database.query(END_FAMILY, [hashSecret(grantId)]);
    },
  };
}

export const expiredRecords = deletion('oauth_records', {
  table: 'oauth_records',
  key: 'model, hash',
  condition: 'expires_at <= now()',
});
