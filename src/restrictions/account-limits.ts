import type { AccountLimits as Stored } from '../generated/tables.ts';
import { type Queryable, statement } from '../platform/db/statement.ts';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';

/** Limits of an account's bucket. What is not given is as the settings say. */
export interface AccountLimits {
  readonly burst?: number;
  readonly perSecond?: number;
}

const SET = statement<{ burst: number | null; perSecond: number | null }>(
  'account_limits_set',
  `INSERT INTO account_limits AS l (user_id, burst, per_second) VALUES ($1::uuid, $2::int, $3::float8)
   ON CONFLICT (user_id) DO UPDATE
     SET burst = coalesce(excluded.burst, l.burst), per_second = coalesce(excluded.per_second, l.per_second)
   RETURNING burst, per_second AS "perSecond"`,
);

/** Limits as they are stored: null is as the settings say. */
export type StoredLimits = Pick<Stored, 'burst' | 'perSecond'>;

/** Sets the limits that are given and leaves the others as they are. Throws DatabaseError. */
export async function setAccountLimits(
  db: Queryable,
  account: string,
  { burst, perSecond }: AccountLimits,
): Promise<StoredLimits> {
  const [stored] = await db.query(SET, [account, burst ?? null, perSecond ?? null]);
  return stored ?? { burst: null, perSecond: null };
}

/** Has the account have the limits of the settings again. Throws DatabaseError. */
export async function resetAccountLimits(work: UnitOfWork, userId: string): Promise<StoredLimits> {
  await work.withPrisma((prisma) => prisma.accountLimits.deleteMany({ where: { userId } }));
  return { burst: null, perSecond: null };
}

const READ = statement<StoredLimits & { account: string }>(
  'account_limits_read',
  'SELECT user_id AS account, burst, per_second AS "perSecond" FROM account_limits',
);

/** Those of all accounts that have any, by their ids. Throws DatabaseError. */
export async function readAccountLimits(db: Queryable): Promise<Map<string, AccountLimits>> {
  const rows = await db.query(READ, []);
  return new Map(
    rows.map(({ account, burst, perSecond }) => [
      account,
      { ...(burst === null ? {} : { burst }), ...(perSecond === null ? {} : { perSecond }) },
    ]),
  );
}
