import { randomUUID } from 'node:crypto';
import { isAuthenticated } from '../auth/principal.ts';
import { atMost } from '../platform/at-most.ts';
import { isOutage } from '../platform/db/errors.ts';
import type { Queryable } from '../platform/db/statement.ts';
import type { Logger } from '../platform/log.ts';
import { type ClientIdentity, reportedClient } from '../request/caller.ts';
import { addressNetwork } from '../request/client-address.ts';
import { type ClientUse, SLOT_MS, storeClientUses } from './client-uses-store.ts';

type Counted = { -readonly [Name in keyof ClientUse]: ClientUse[Name] };

/** Between two times of storing. Those beyond count as one. */
const MAX_CLIENTS = 5_000;
const OTHERS = 'other';
/** Of each measure, these many are stored by themselves. */
const MAX_STORED = 100;
const CLOSE_MS = 5_000;

function add(to: Counted, { requests, cost, databaseMs }: ClientUse): void {
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

/** Those that have used the most by any measure, and the sum of all others. */
function most(uses: readonly Counted[]): ClientUse[] {
  const kept = new Set<Counted>();
  for (const measure of ['requests', 'cost', 'databaseMs'] as const)
    for (const use of uses.toSorted((one, other) => other[measure] - one[measure]).slice(0, MAX_STORED))
      kept.add(use);
  const others = none(OTHERS, null);
  for (const use of uses) if (!kept.has(use)) add(others, use);
  return others.requests === 0 ? [...kept] : [...kept, others];
}

/** A request once it is answered. */
interface FinishedRequest extends ClientIdentity {
  /** In points. */
  readonly complexity: number;
  readonly databaseMs: number;
}

/**
 * Counts what clients use, so that whoever uses too much can be found. An instance that is killed loses what it has counted since it last
 * stored it.
 */
export function createClientUses({ database, log }: { readonly database: Queryable; readonly log: Logger }) {
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
      await storeClientUses(database, instance, number, most(uses));
    } catch (error) {
      log[isOutage(error) ? 'debug' : 'warn']({ err: error }, 'could not store how much clients use');
    }
  }

  const timer = setInterval(store, SLOT_MS).unref();
  return {
    /** Counts a request once it is answered. Nobody waits for the database. */
    note({ caller, clientAddress, complexity, databaseMs }: FinishedRequest): void {
      const use = isAuthenticated(caller)
        ? of(reportedClient(caller).client, caller.userId)
        : of(addressNetwork(clientAddress), null);
      use.requests += 1;
      use.cost += complexity;
      use.databaseMs += databaseMs;
    },
    /** Stores what was counted, and stops. */
    async close(): Promise<void> {
      clearInterval(timer);
      await atMost(CLOSE_MS, store());
    },
  };
}

export type ClientUses = ReturnType<typeof createClientUses>;
