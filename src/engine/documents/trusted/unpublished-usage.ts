import { setImmediate as nextLoopIteration } from 'node:timers/promises';
import { type Caller, reportedClient } from '../../../auth/principal.ts';
import { findLogLevel } from '../../../database/errors.ts';
import type { Queryable } from '../../../database/statement.ts';
import { storePeriodically } from '../../../platform/async.ts';
import type { Logger } from '../../../platform/log/log.ts';
import type { Metrics } from '../../../platform/metrics/metrics.ts';
import { digestOf, type PreparedDocument } from '../prepared-operation.ts';
import { type CountedText, NO_DIGEST, storeUnpublishedUsage } from './document-store.ts';

export interface UnpublishedUsageOptions {
  readonly database: Queryable;
  readonly metrics: Metrics;
  /** True if published documents count, too, because their clients could send ids instead. */
  readonly all: boolean;
  readonly log: Logger;
}

interface Use {
  readonly names: string | undefined;
  count: number;
}

interface Client {
  readonly kind: string;
  readonly texts: Map<string, Use>;
}

const FLUSH_MS = 10_000;
/** Limits between two flushes. Further documents count together for each client, and further clients count as one. */
const MAX_CLIENTS = 1_000;
const MAX_TEXTS = 1_000;
const MAX_TEXTS_OF_CLIENT = 200;
const MAX_NAMES = 100;
/**
 * Longer query strings would fill the memory, so only their digest is retained. Cached documents have the same limit.
 */
const MAX_LENGTH = 10_000;
/** The event loop runs other work after this many digests, which take up to some tenths of a millisecond each. */
const AT_A_TIME = 8;
/** Stands for all further documents and all further clients. */
const OTHERS = '';
const OTHER = 'other';

/**
 * A document counts by its query string or, if that is long, by its digest, which is no GraphQL syntax. Digests of
 * short strings are computed when they are stored.
 */
const toKey = (document: PreparedDocument): string =>
  document.text.length > MAX_LENGTH ? document.digest : document.text;

function computeKeyDigest(key: string): string {
  if (key === OTHERS) return NO_DIGEST;
  return key.startsWith(NO_DIGEST) ? key : digestOf(key);
}

/** Counts in memory and stores every 10 s, so a killed process loses the counts since then. */
export function createUnpublishedUsage({ database, metrics, all, log }: UnpublishedUsageOptions) {
  const unpublished = metrics.fastCounter(
    'content_graph_graphql_unpublished_operations_total',
    'Operations whose document is not published.',
    ['client'],
  );
  const reported = new Set<string>();
  let clients = new Map<string, Client>();
  let texts = 0;

  function add(client: string, kind: string, text: string, count: number, names: string | undefined): void {
    const known = clients.get(client);
    if (known === undefined && clients.size >= MAX_CLIENTS && client !== OTHERS) {
      add(OTHERS, OTHERS, OTHERS, count, undefined);
      return;
    }
    const { texts: uses } = known ?? { texts: new Map<string, Use>() };
    if (known === undefined) clients.set(client, { kind, texts: uses });
    const use = uses.get(text);
    if (use !== undefined) use.count += count;
    else if (text === OTHERS || (texts < MAX_TEXTS && uses.size < MAX_TEXTS_OF_CLIENT)) {
      texts += 1;
      uses.set(text, { names: names?.slice(0, MAX_NAMES), count });
    } else add(client, kind, OTHERS, count, undefined);
  }

  async function textsOf(counted: ReadonlyMap<string, Client>): Promise<CountedText[]> {
    const all: CountedText[] = [];
    for (const [client, { kind, texts: uses }] of counted)
      for (const [text, use] of uses) {
        const who = client === OTHERS ? { client: OTHER, kind: OTHER } : { client, kind };
        all.push({ ...who, digest: computeKeyDigest(text), ...use });
        if (all.length % AT_A_TIME === 0) await nextLoopIteration();
      }
    return all;
  }

  function tell(client: string): string {
    if (!reported.has(client) && reported.size >= MAX_CLIENTS) return OTHER;
    reported.add(client);
    return client;
  }

  async function flush(): Promise<void> {
    const counted = clients;
    if (counted.size === 0) return;
    clients = new Map();
    texts = 0;
    try {
      for (const { client, count } of await storeUnpublishedUsage(database, await textsOf(counted), all))
        unpublished.add(tell(client), '', count);
    } catch (error) {
      log.emit('usage.unpublished_store_failed', { err: error }, findLogLevel(error));
      for (const [client, { kind, texts: uses }] of counted)
        for (const [text, { names, count }] of uses) add(client, kind, text, count, names);
    }
  }

  return {
    /** No request waits for the database. */
    note(caller: Caller | undefined, document: PreparedDocument): void {
      const { client, kind } = reportedClient(caller);
      const key = toKey(document);
      const use = clients.get(client)?.texts.get(key);
      if (use !== undefined) use.count += 1;
      else add(client, kind, key, 1, document.names);
    },
    close: storePeriodically(FLUSH_MS, flush),
  };
}

export type UnpublishedUsage = ReturnType<typeof createUnpublishedUsage>;
