import { randomUUID } from 'node:crypto';
import { findLogLevel } from '../database/errors.ts';
import { deletion } from '../database/jobs.ts';
import { type Queryable, statement } from '../database/statement.ts';
import { storePeriodically } from '../platform/async.ts';
import { addressNetwork } from '../platform/ip-address.ts';
import type { Logger } from '../platform/log/log.ts';
import { type ClientIdentity, isAuthenticated, reportedClient } from './principal.ts';

export const MEASURES = ['requests', 'complexity', 'database'] as const;
export type Measure = (typeof MEASURES)[number];

export interface ClientUsageRow {
  /**
   * The id of an API key or OAuth client, another kind of credentials, or an IP address or network without
   * credentials.
   */
  readonly client: string;
  readonly account: string | null;
  readonly requests: number;
  readonly cost: number;
  readonly databaseMs: number;
}

export type ListedClientUsage = Omit<ClientUsageRow, 'cost'> & { readonly complexity: number };

const SLOT_MS = 4_000;
export const KEPT_SECONDS = 600;
const SLOTS = (KEPT_SECONDS * 1_000) / SLOT_MS;

/**
 * Overwrites the oldest slot. Inserting and deleting rows would leave dead space behind in an embedded
 * database.
 */
const STORE = statement<never>(
  'client_uses_store',
  `INSERT INTO client_uses (instance, slot, at, uses) VALUES ($1::uuid, $2::int % ${SLOTS}, clock_timestamp(), $3::jsonb)
   ON CONFLICT (instance, slot) DO UPDATE SET at = excluded.at, uses = excluded.uses`,
);

const COLUMN: Readonly<Record<Measure, string>> = {
  requests: 'requests',
  complexity: 'cost',
  database: '"databaseMs"',
};
const MOST = 100;
const top = (by: Measure) =>
  statement<ListedClientUsage>(
    'client_uses_top',
    `SELECT u.client, u.account, sum(u.requests)::float8 AS requests, sum(u.cost)::float8 AS complexity,
       round(sum(u."databaseMs"))::float8 AS "databaseMs"
     FROM client_uses, jsonb_to_recordset(uses)
       AS u (client text, account text, requests numeric, cost numeric, "databaseMs" numeric)
     WHERE at > clock_timestamp() - $1::float8 * interval '1 second'
     GROUP BY u.client, u.account ORDER BY sum(u.${COLUMN[by]}) DESC, u.client, u.account LIMIT ${MOST}`,
  );

/**
 * Finds the clients that used the most in the last seconds, over all instances. The figures are at most 5 s
 * old, because instances store their counts every SLOT_MS.
 * @throws {DatabaseError}
 */
export const topClients = (db: Queryable, seconds: number, by: Measure): Promise<ListedClientUsage[]> =>
  db.query(top(by), [seconds]);

/** Rows older than the longest period stay behind when an instance stops. */
export const oldClientUsage = deletion('client_uses', {
  table: 'client_uses',
  key: 'instance, slot',
  condition: `at < clock_timestamp() - interval '${2 * KEPT_SECONDS} seconds'`,
});

type Counted = { -readonly [Name in keyof ClientUsageRow]: ClientUsageRow[Name] };

/** An instance counts this many clients between two writes. All further clients count as one. */
const MAX_CLIENTS = 5_000;
const OTHERS = 'other';
const MAX_STORED = 100;

function add(to: Counted, { requests, cost, databaseMs }: ClientUsageRow): void {
  to.requests += requests;
  to.cost += cost;
  to.databaseMs += databaseMs;
}

const none = (client: string, account: string | null): Counted => ({
  client,
  account,
  requests: 0,
  cost: 0,
  databaseMs: 0,
});

/** Keeps the clients that used the most by any measure, and the sum of all others. */
function most(uses: readonly Counted[]): ClientUsageRow[] {
  const kept = new Set<Counted>();
  for (const measure of ['requests', 'cost', 'databaseMs'] as const)
    for (const use of uses.toSorted((one, other) => other[measure] - one[measure]).slice(0, MAX_STORED))
      kept.add(use);
  const others = none(OTHERS, null);
  for (const use of uses) if (!kept.has(use)) add(others, use);
  return others.requests === 0 ? [...kept] : [...kept, others];
}

interface FinishedRequest extends ClientIdentity {
  /** Complexity in points. */
  readonly complexity: number;
  readonly databaseMs: number;
}

/**
 * Counts the usage of clients, so that operators can find the heaviest. A killed instance loses its counts
 * since the last write.
 */
export function createClientUsage({ database, log }: { readonly database: Queryable; readonly log: Logger }) {
  const instance = randomUUID();
  let number = 0;
  let counted = new Map<string, Counted>();

  function of(client: string, account: string | null): Counted {
    const key = account === null ? client : `${account} ${client}`;
    const known = counted.get(key);
    if (known !== undefined) return known;
    if (counted.size >= MAX_CLIENTS && client !== OTHERS) return of(OTHERS, null);
    const use = none(client, account);
    counted.set(key, use);
    return use;
  }

  async function store(): Promise<void> {
    if (counted.size === 0) return;
    const uses = [...counted.values()];
    counted = new Map();
    number += 1;
    try {
      await database.query(STORE, [instance, number, JSON.stringify(most(uses))]);
    } catch (error) {
      log.emit('usage.client_store_failed', { err: error }, findLogLevel(error));
    }
  }

  return {
    /** Called after the response. No request waits for the database. */
    note({ caller, clientAddress, complexity, databaseMs }: FinishedRequest): void {
      const use = isAuthenticated(caller)
        ? of(reportedClient(caller).client, caller.userId)
        : of(addressNetwork(clientAddress), null);
      use.requests += 1;
      use.cost += complexity;
      use.databaseMs += databaseMs;
    },
    close: storePeriodically(SLOT_MS, store),
  };
}

export type ClientUsage = ReturnType<typeof createClientUsage>;
