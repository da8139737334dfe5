import type { Database } from '../../../src/database/database.ts';
import { statement } from '../../../src/database/statement.ts';
import * as model from '../../model/agree.ts';
import { type Snapshot as Rows, readSnapshot } from '../../model/tables.ts';
import type { State } from './state.ts';

/** What the tables hold of the people of a sequence. */
export interface Snapshot {
  readonly rows: Rows;
  /** How many responses are stored, by account. */
  readonly stored: Readonly<Record<string, number>>;
}

const STORED = statement<{ id: string; n: number }>(
  'test_stored',
  'SELECT user_id AS id, count(*)::int AS n FROM idempotency_keys WHERE user_id = ANY($1::uuid[]) GROUP BY 1',
);
const LAST_EVENT = statement<{ id: number }>(
  'test_last_event',
  'SELECT coalesce(max(id), 0)::bigint AS id FROM events',
);

export async function takeSnapshot(database: Database, state: State, afterEvent: bigint): Promise<Snapshot> {
  const people = state.users.map(({ id }) => id);
  const rows = await readSnapshot(
    (text, values) => database.query(statement('test_snapshot', text), values),
    { people, afterEvent },
  );
  const stored = await database.query(STORED, [people]);
  return { rows, stored: Object.fromEntries(stored.map(({ id, n }) => [id, n])) };
}

/** The number of the last event so far. */
export async function lastEvent(database: Database): Promise<bigint> {
  const [row] = await database.query(LAST_EVENT, []);
  return BigInt(row?.id ?? 0);
}

/** The state with all ids, where the tables hold just what it says; otherwise where the two differ. */
export function agree(state: State, { rows, stored }: Snapshot): ReturnType<typeof model.agree<State>> {
  const slots = Object.keys(state.stored);
  for (const [account, { id }] of state.users.entries()) {
    const count = slots.filter((slot) => slot.startsWith(`${account} `)).length;
    if (count !== (stored[id] ?? 0))
      return { differs: `${stored[id] ?? 0} answers are stored for account ${account} and not ${count}` };
  }
  return model.agree(state, rows);
}
