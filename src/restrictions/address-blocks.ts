import { type AddressBlock, addressBlocks } from '../generated/tables.ts';
import { deletion } from '../jobs/job.ts';
import { formatColumns } from '../platform/db/columns.ts';
import { type Queryable, statement } from '../platform/db/statement.ts';
import { type Network, textOf } from './network.ts';

/** Every instance looks each new address up in all of them. */
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
 * Blocks a network, for some time or until it is unblocked, in place of any block of the same network. Undefined if there
 * are too many. Throws DatabaseError.
 */
export async function putBlock(
  db: Queryable,
  network: Network,
  { reason, forMs }: { readonly reason?: string | undefined; readonly forMs?: number | undefined },
): Promise<AddressBlock | undefined> {
  return (await db.query(PUT, [textOf(network), reason ?? null, forMs ?? null]))[0];
}

const REMOVE = statement<{ network: string }>(
  'block_remove',
  `DELETE FROM address_blocks WHERE network = network($1::inet) AND ${IN_FORCE} RETURNING network`,
);

/** Ends a block, and returns its network in its usual form. Undefined if there is none. Throws DatabaseError. */
export async function removeBlock(db: Queryable, network: Network): Promise<string | undefined> {
  return (await db.query(REMOVE, [textOf(network)]))[0]?.network;
}

const LIST = statement<AddressBlock>(
  'blocks_list',
  `SELECT ${COLUMNS} FROM address_blocks WHERE ${IN_FORCE} AND ($1::inet IS NULL OR network >>= $1::inet OR network <<= $1::inet)
   ORDER BY created_at, network`,
);

/** The blocks in force, oldest first: all, or those that have something in common with a network. Throws DatabaseError. */
export const listBlocks = (db: Queryable, network?: Network): Promise<AddressBlock[]> =>
  db.query(LIST, [network === undefined ? null : textOf(network)]);

const READ = statement<{ network: string; leftMs: number | null }>(
  'blocks_read',
  `SELECT network, (extract(epoch FROM ends_at - clock_timestamp()) * 1000)::float8 AS "leftMs"
   FROM address_blocks WHERE ${IN_FORCE}`,
);

/** The blocks in force with the time that they have left, by the database's clock. Throws DatabaseError. */
export const readBlocks = (
  db: Queryable,
): Promise<{ readonly network: string; readonly leftMs: number | null }[]> => db.query(READ, []);

/** Blocks that have ended. */
export const endedBlocks = deletion('address_blocks', {
  table: 'address_blocks',
  key: 'network',
  condition: 'ends_at <= clock_timestamp()',
});
