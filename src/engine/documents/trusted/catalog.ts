import { LRUCache } from 'lru-cache';
import { lookUp } from '../../../auth/secrets.ts';
import type { Queryable, Statement } from '../../../database/statement.ts';
import { coalesceRuns } from '../../../platform/async.ts';
import { getOrCreate } from '../../../platform/cache.ts';
import type { Logger } from '../../../platform/log/log.ts';
import { createOutageReporter } from '../../../platform/log/log-limits.ts';
import type { DocumentCache } from '../document-cache.ts';
import type { PublishedBy } from '../operation-request.ts';
import type { PreparedDocument } from '../prepared-operation.ts';
import { CHECK_DIGESTS, CHECK_DOCUMENTS, FIND_DOCUMENTS, HAS_DOCUMENTS } from './document-store.ts';

interface PublishedKeys<Row extends { readonly key: string }, Value extends object | true> {
  /** Finds the published keys, with the columns for `toValue`. */
  readonly find: Statement<Row>;
  readonly check: Statement<{ readonly key: string }>;
  readonly toValue: (row: Row) => Value;
  readonly cached: LRUCache<string, Value>;
}

/**
 * Caches a published document until another process notifies that it is retired. Unknown keys are looked up each time,
 * so that a document is found as soon as it is published. Concurrent look-ups share a statement.
 */
function createKnownPublished<Row extends { readonly key: string }, Value extends object | true>(
  { database, hears }: Pick<CatalogOptions, 'database' | 'hears'>,
  { find, check, toValue, cached }: PublishedKeys<Row, Value>,
) {
  const watched = new Map<string, Set<() => void>>();
  /** Rows read before a recheck began may have been retired since, so they are not cached. */
  let rechecks = 0;

  const read = lookUp(database, find, (row) => row.key);

  async function readAndCache(key: string): Promise<Value | undefined> {
    const asked = rechecks;
    const row = await read(key);
    if (row === undefined) return undefined;
    const value = toValue(row);
    if (asked === rechecks) cached.set(key, value);
    return value;
  }

  return {
    cached,
    /**
     * No promise is returned if the value is cached. The value is undefined if the key is not published.
     * @throws {DatabaseError} as a rejection
     */
    get(key: string): Value | Promise<Value | undefined> {
      const value = hears() ? cached.get(key) : undefined;
      return value ?? readAndCache(key);
    },
    /** Calls `onRetired` once a recheck finds that the key is no longer published. */
    watch(key: string, onRetired: () => void): () => void {
      const streams = getOrCreate(watched, key, () => new Set()).add(onRetired);
      return () => {
        streams.delete(onRetired);
        if (streams.size === 0 && watched.get(key) === streams) watched.delete(key);
      };
    },
    /** @throws {DatabaseError} as a rejection */
    async recheck(): Promise<void> {
      rechecks += 1;
      const keys = [...new Set([...cached.keys(), ...watched.keys()])];
      if (keys.length === 0) return;
      const published = new Set((await database.query(check, [keys])).map(({ key }) => key));
      for (const key of keys) {
        if (published.has(key)) continue;
        cached.delete(key);
        for (const onRetired of [...(watched.get(key) ?? [])]) onRetired();
      }
    },
  };
}

export interface CatalogOptions {
  readonly database: Queryable;
  readonly documents: Pick<DocumentCache, 'parse' | 'parseChecked' | 'schemaId'>;
  /** True if this process is notified immediately when a document is retired. */
  readonly hears: () => boolean;
  /** The interval at which documents are rechecked without a notification. */
  readonly recheckMs: number;
  readonly log: Logger;
}

const ID = /^[\x20-\x7e]{1,128}$/;

export const isPublishableId = (id: string): boolean => ID.test(id);

/** The cache is about as large as the cache of query strings in `document-cache.ts`, at five characters a token. */
const MAX_KNOWN = 1_000;
const MAX_LENGTH = 500_000;
const MAX_DIGESTS = 10_000;
const RETRY_MS = 500;

/**
 * Parses the text at each use until the second, and then retains the document. A document used once does not survive in
 * memory, where the garbage collection of old objects costs most.
 */
export class KnownText {
  readonly text: string;
  readonly #parse: (text: string) => PreparedDocument;
  #used = false;
  #document: PreparedDocument | undefined;

  constructor(text: string, parse: (text: string) => PreparedDocument) {
    this.text = text;
    this.#parse = parse;
  }

  /** @throws the errors of parsing */
  prepared(): PreparedDocument {
    if (this.#document !== undefined) return this.#document;
    const document = this.#parse(this.text);
    if (this.#used) this.#document = document;
    this.#used = true;
    return document;
  }
}

export function createCatalog(options: CatalogOptions) {
  const { database, documents, recheckMs, log } = options;
  const byId = createKnownPublished(options, {
    find: FIND_DOCUMENTS,
    check: CHECK_DOCUMENTS,
    toValue: ({ text, schema }) =>
      new KnownText(text, schema === documents.schemaId() ? documents.parseChecked : documents.parse),
    cached: new LRUCache<string, KnownText>({
      max: MAX_KNOWN,
      maxSize: MAX_LENGTH,
      sizeCalculation: ({ text }) => text.length,
    }),
  });
  const byDigest = createKnownPublished(options, {
    find: CHECK_DIGESTS,
    check: CHECK_DIGESTS,
    toValue: () => true as const,
    cached: new LRUCache<string, true>({ max: MAX_DIGESTS }),
  });
  const outage = createOutageReporter(log, 'documents.refresh_failed', 'documents.recovered');
  let retry: NodeJS.Timeout | undefined;
  let closed = false;

  const recheckAll = coalesceRuns(async () => {
    clearTimeout(retry);
    if (closed) return;
    try {
      await Promise.all([byId.recheck(), byDigest.recheck()]);
      outage.over();
    } catch (error) {
      // During the outage, no document runs without a look-up in the database.
      byId.cached.clear();
      byDigest.cached.clear();
      outage.failed({ err: error });
      retry = setTimeout(recheckAll, RETRY_MS).unref();
    }
  });
  const recheck = (): void => void recheckAll();

  const timer = setInterval(recheck, recheckMs).unref();
  return {
    byId,
    /** Keyed by the digest of the documents. */
    byDigest,
    /**
     * Resolves to true if a document was ever published.
     * @throws {DatabaseError} as a rejection
     */
    hasDocuments: async () => (await database.query(HAS_DOCUMENTS, []))[0]?.found === true,
    /** @returns a function that stops watching */
    watch({ by, key }: PublishedBy, onRetired: () => void): () => void {
      const published = by === 'id' ? byId : byDigest;
      const stop = published.watch(key, onRetired);
      // The document may have been retired after the stages accepted the request.
      if (!published.cached.has(key)) recheck();
      return stop;
    },
    /** Starts a check for documents that were retired. */
    recheck,
    close(): void {
      closed = true;
      clearInterval(timer);
    },
  };
}

export type Catalog = ReturnType<typeof createCatalog>;
