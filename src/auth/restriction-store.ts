import { deletion } from '../database/jobs.ts';
import { formatColumns, type Queryable, statement } from '../database/statement.ts';
import type { UnitOfWork } from '../database/unit-of-work.ts';
import { type AddressBlock, addressBlocks, type AccountLimits as Stored } from '../generated/tables.ts';
import { formatNetwork, type Network } from '../platform/ip-address.ts';

/** A missing limit means the limit of the settings. */
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

/** Null means the limit of the settings. */
export type StoredLimits = Pick<Stored, 'burst' | 'perSecond'>;

/** @throws {DatabaseError} */
export async function setAccountLimits(
  db: Queryable,
  account: string,
  { burst, perSecond }: AccountLimits,
): Promise<StoredLimits> {
  const [stored] = await db.query(SET, [account, burst ?? null, perSecond ?? null]);
  return stored ?? { burst: null, perSecond: null };
}

/**
 * The limits of the settings apply again.
 * @throws {DatabaseError}
 */
export async function resetAccountLimits(work: UnitOfWork, userId: string): Promise<StoredLimits> {
  await work.withPrisma((prisma) => prisma.accountLimits.deleteMany({ where: { userId } }));
  return { burst: null, perSecond: null };
}

const READ_LIMITS = statement<StoredLimits & { account: string }>(
  'account_limits_read',
  'SELECT user_id AS account, burst, per_second AS "perSecond" FROM account_limits',
);

/**
 * @returns the limits by account id, without the accounts that have none
 * @throws {DatabaseError}
 */
export async function readAccountLimits(db: Queryable): Promise<Map<string, AccountLimits>> {
  const rows = await db.query(READ_LIMITS, []);
  return new Map(
    rows.map(({ account, burst, perSecond }) => [
      account,
      { ...(burst === null ? {} : { burst }), ...(perSecond === null ? {} : { perSecond }) },
    ]),
  );
}

/** Every instance compares each new IP address with all blocks. */
export const MAX_BLOCKS = 1_000;

const COLUMNS = formatColumns(addressBlocks);
const IN_FORCE = '(ends_at IS NULL OR ends_at > clock_timestamp())';

const PUT = statement<AddressBlock>(
  'block_put',
  `INSERT INTO address_blocks (network, reason, ends_at)
   SELECT network($1::inet), $2, clock_timestamp() + $3::float8 * interval '1 millisecond'
   WHERE (SELECT count(*) FROM address_blocks WHERE ${IN_FORCE} AND network <> network($1::inet)) < ${MAX_BLOCKS}
   ON CONFLICT (network) DO UPDATE
     SET reason = excluded.reason, created_at = clock_timestamp(), ends_at = excluded.ends_at
   RETURNING ${COLUMNS}`,
);

/**
 * The block replaces an earlier block of the network.
 * @returns undefined if there are too many blocks
 * @throws {DatabaseError}
 */
export async function putBlock(
  db: Queryable,
  network: Network,
  { reason, forMs }: { readonly reason?: string | undefined; readonly forMs?: number | undefined },
): Promise<AddressBlock | undefined> {
  return (await db.query(PUT, [formatNetwork(network), reason ?? null, forMs ?? null]))[0];
}

const REMOVE = statement<{ network: string }>(
  'block_remove',
  `DELETE FROM address_blocks WHERE network = network($1::inet) AND ${IN_FORCE} RETURNING network`,
);

/**
 * @returns the network in canonical form; undefined if the network is not blocked
 * @throws {DatabaseError}
 */
export async function removeBlock(db: Queryable, network: Network): Promise<string | undefined> {
  return (await db.query(REMOVE, [formatNetwork(network)]))[0]?.network;
}

const LIST = statement<AddressBlock>(
  'blocks_list',
  `SELECT ${COLUMNS} FROM address_blocks WHERE ${IN_FORCE} AND ($1::inet IS NULL OR network >>= $1::inet OR network <<= $1::inet)
   ORDER BY created_at, network`,
);

/**
 * Lists the active blocks, oldest first. With `network`, lists only blocks that overlap it.
 * @throws {DatabaseError}
 */
export const listBlocks = (db: Queryable, network?: Network): Promise<AddressBlock[]> =>
  db.query(LIST, [network === undefined ? null : formatNetwork(network)]);

const READ_BLOCKS = statement<{ network: string; leftMs: number | null }>(
  'blocks_read',
  `SELECT network, (extract(epoch FROM ends_at - clock_timestamp()) * 1000)::float8 AS "leftMs"
   FROM address_blocks WHERE ${IN_FORCE}`,
);

/**
 * The remaining time is by the database's clock.
 * @throws {DatabaseError}
 */
export const readBlocks = (
  db: Queryable,
): Promise<{ readonly network: string; readonly leftMs: number | null }[]> => db.query(READ_BLOCKS, []);

export const endedBlocks = deletion('address_blocks', {
  table: 'address_blocks',
  key: 'network',
  condition: 'ends_at <= clock_timestamp()',
});
