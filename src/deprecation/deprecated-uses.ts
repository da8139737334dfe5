import { randomUUID } from 'node:crypto';
import { atMost } from '../platform/at-most.ts';
import type { Database } from '../platform/db/database.ts';
import { isOutage } from '../platform/db/errors.ts';
import type { Logger } from '../platform/log.ts';
import { reportedClient } from '../request/caller.ts';
import type { DeprecatedElement } from '../request/deprecated-element.ts';
import type { RequestState } from '../request/request-state.ts';
import { type CountedUses, OTHER, storeDeprecatedUses } from './deprecated-uses-store.ts';

type Published = RequestState['published'];

interface Use {
  readonly element: string;
  readonly client: string;
  readonly kind: string;
  readonly published: Published;
  count: number;
}

const FLUSH_MS = 10_000;
/** Between two flushes. Of what is beyond, clients count as one for each element. */
const MAX_USES = 5_000;
/** How long a stop waits for the database. */
const CLOSE_MS = 5_000;

const columnsOf = (uses: readonly Use[]): CountedUses => ({
  element: uses.map(({ element }) => element),
  client: uses.map(({ client }) => client),
  kind: uses.map(({ kind }) => kind),
  document: uses.map(({ published }) => (published?.by === 'id' ? published.key : null)),
  digest: uses.map(({ published }) => (published?.by === 'digest' ? published.key : null)),
  count: uses.map(({ count }) => count),
});

/**
 * Counts in memory and stores from time to time, everything once: a process that is killed loses what it has counted since
 * it last stored, and nothing is ever stored twice.
 */
export function createDeprecatedUses({
  database,
  log,
}: {
  readonly database: Pick<Database, 'unitOfWork'>;
  readonly log: Logger;
}) {
  const instance = randomUUID();
  let number = 0;
  let counted = new Map<string, Use>();
  /** What is being stored. Retried while it is unknown whether the last try committed. */
  let pending: CountedUses | undefined;

  function add(element: string, client: string, kind: string, published: Published): void {
    const key = `${element} ${client} ${published?.by ?? ''} ${published?.key ?? ''}`;
    const use = counted.get(key);
    if (use !== undefined) use.count += 1;
    else if (counted.size < MAX_USES || client === OTHER)
      counted.set(key, { element, client, kind, published, count: 1 });
    else add(element, OTHER, OTHER, undefined);
  }

  async function storeAll(): Promise<void> {
    while (pending !== undefined || counted.size > 0) {
      if (pending === undefined) {
        pending = columnsOf([...counted.values()]);
        counted = new Map();
        number += 1;
      }
      try {
        await storeDeprecatedUses(database, { instance, number }, pending);
      } catch (error) {
        const level = isOutage(error) ? 'debug' : 'warn';
        log[level]({ err: error }, 'could not store who uses deprecated elements; keeping it');
        return;
      }
      pending = undefined;
    }
  }

  let running: Promise<void> | undefined;
  function store(): Promise<void> {
    running ??= storeAll().finally(() => {
      running = undefined;
    });
    return running;
  }
  const timer = setInterval(store, FLUSH_MS).unref();

  return {
    /** Counts an operation that uses deprecated elements. Nobody waits for the database. */
    note({ caller, published }: RequestState, used: readonly DeprecatedElement[]): void {
      const { client, kind } = reportedClient(caller);
      for (const { element } of used) add(element, client, kind, published);
    },
    /** Stores what was counted, and stops. */
    async close(): Promise<void> {
      clearInterval(timer);
      await atMost(CLOSE_MS, (running ?? Promise.resolve()).then(store));
    },
  };
}

export type DeprecatedUses = ReturnType<typeof createDeprecatedUses>;
