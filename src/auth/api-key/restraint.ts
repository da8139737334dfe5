import { type Queryable, statement } from '../../platform/db/statement.ts';

const SUSPEND = statement<{ account: string }>(
  'api_key_suspend',
  `UPDATE api_keys SET suspended_at = CASE WHEN $2 THEN now() END
   WHERE id = $1 AND revoked_at IS NULL AND (suspended_at IS NULL) = $2 RETURNING user_id AS account`,
);

/**
 * Suspends a key, or has it work again, and returns the id of its account. Undefined if there is no such key, it is revoked,
 * or there is nothing to change. Throws DatabaseError.
 */
export async function suspendApiKey(
  db: Queryable,
  id: string,
  suspended: boolean,
): Promise<{ readonly account: string } | undefined> {
  return (await db.query(SUSPEND, [id, suspended]))[0];
}

interface Limited {
  readonly account: string;
  /** Null: as the settings say. */
  readonly burst: number | null;
  readonly perSecond: number | null;
}

const SET_LIMITS = statement<Limited>(
  'api_key_set_limits',
  `UPDATE api_keys SET burst = CASE WHEN $2 THEN NULL ELSE coalesce($3::int, burst) END,
     per_second = CASE WHEN $2 THEN NULL ELSE coalesce($4::float8, per_second) END
   WHERE id = $1 AND revoked_at IS NULL RETURNING user_id AS account, burst, per_second AS "perSecond"`,
);

/**
 * Sets those limits of a key that are given; without `limits`, it has those of the settings again. Undefined if there is no
 * such key, or it is revoked. Throws DatabaseError.
 */
export async function setApiKeyLimits(
  db: Queryable,
  id: string,
  limits: { readonly burst?: number; readonly perSecond?: number } | undefined,
): Promise<Limited | undefined> {
  const { burst = null, perSecond = null } = limits ?? {};
  return (await db.query(SET_LIMITS, [id, limits === undefined, burst, perSecond]))[0];
}
