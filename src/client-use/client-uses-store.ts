import { deletion } from '../jobs/job.ts';
import { type Queryable, statement } from '../platform/db/statement.ts';

/** What clients are compared by. */
export const MEASURES = ['requests', 'cost', 'database'] as const;
export type Measure = (typeof MEASURES)[number];

/** How much a client has used. */
export interface ClientUse {
  /** The id of an API key or OAuth client, another kind of credentials, or an address or network without any. */
  readonly client: string;
  readonly account: string | null;
  readonly requests: number;
  /** The complexity of its operations, in all. */
  readonly cost: number;
  readonly databaseMs: number;
}

/** One row holds what an instance has counted in this time. */
export const SLOT_MS = 4_000;
/** For how long such rows are kept. */
export const KEPT_SECONDS = 600;
const SLOTS = (KEPT_SECONDS * 1_000) / SLOT_MS;

/** Written in place of the oldest: rows that come and go would leave their space behind in an embedded database. */
const STORE = statement<never>(
  'client_uses_store',
  `INSERT INTO client_uses (instance, slot, at, uses) VALUES ($1::uuid, $2::int % ${SLOTS}, clock_timestamp(), $3::jsonb)
   ON CONFLICT (instance, slot) DO UPDATE SET at = excluded.at, uses = excluded.uses`,
);

/** Stores what an instance has counted. `number` counts its slots. Throws DatabaseError. */
export async function storeClientUses(
  db: Queryable,
  instance: string,
  number: number,
  uses: readonly ClientUse[],
): Promise<void> {
  await db.query(STORE, [instance, number, JSON.stringify(uses)]);
}

const COLUMN: Readonly<Record<Measure, string>> = {
  requests: 'requests',
  cost: 'cost',
  database: '"databaseMs"',
};
const MOST = 100;
const top = (by: Measure) =>
  statement<ClientUse>(
    'client_uses_top',
    `SELECT u.client, u.account, sum(u.requests)::float8 AS requests, sum(u.cost)::float8 AS cost,
       round(sum(u."databaseMs"))::float8 AS "databaseMs"
     FROM client_uses, jsonb_to_recordset(uses)
       AS u (client text, account text, requests numeric, cost numeric, "databaseMs" numeric)
     WHERE at > clock_timestamp() - $1::float8 * interval '1 second'
     GROUP BY u.client, u.account ORDER BY sum(u.${COLUMN[by]}) DESC, u.client, u.account LIMIT ${MOST}`,
  );

/**
 * The clients that have used the most in the last seconds, of all instances. At most 5 s old: instances store what they
 * count every SLOT_MS. Throws DatabaseError.
 */
export const topClients = (db: Queryable, seconds: number, by: Measure): Promise<ClientUse[]> =>
  db.query(top(by), [seconds]);

/** Those of instances that have ended. */
export const oldClientUses = deletion('client_uses', {
  table: 'client_uses',
  key: 'instance, slot',
  condition: `at < clock_timestamp() - interval '${2 * KEPT_SECONDS} seconds'`,
});
