import { LRUCache } from 'lru-cache';
import { lookUp } from '../../../auth/secrets.ts';
import type { Queryable, Statement } from '../../../database/statement.ts';
import type { Logger } from '../../../platform/log/log.ts';
import { createOutageReporter } from '../../../platform/log/log-limits.ts';
import type { DocumentCache } from '../document-cache.ts';
import type { PublishedBy } from '../operation-request.ts';
import type { PreparedDocument } from '../prepared-operation.ts';
import { CHECK_DIGESTS, CHECK_DOCUMENTS, FIND_DOCUMENTS, HAS_DOCUMENTS } from './document-store.ts';

export interface KnownPublishedOptions<Row extends { readonly key: string }, Value extends object | true> {
  readonly database: Queryable;
  /** Finds the published keys, with the columns for `toValue`. */
  readonly find: Statement<Row>;
  readonly check: Statement<{ readonly key: string }>;
  readonly toValue: (row: Row) => Value;
  readonly cached: LRUCache<string, Value>;
  /** True if this process is notified immediately when a document is retired. */
  readonly hears: () => boolean;
}

interface KnownPublished<Value> {
  /**
   * No promise is returned if the value is cached. The value is undefined if the key is not published.
   * @throws {DatabaseError} as a rejection
   */
  get(key: string): Value | Promise<Value | undefined>;
  knows(key: string): boolean;
  /**
   * Calls `onRetired` once a recheck finds that the key is no longer published.
   * @returns a function that stops watching
   */
  watch(key: string, onRetired: () => void): () => void;
  /** @throws {DatabaseError} as a rejection */
  recheck(): Promise<void>;
}

/**
 * Caches a published document until another process notifies that it is retired. Unknown keys are looked up each time,
 * so that a document is found as soon as it is published. Concurrent look-ups share a statement.
 */
function createKnownPublished<Row extends { readonly key: string }, Value extends object | true>(
  options: KnownPublishedOptions<Row, Value>,
): KnownPublished<Value> {
  const { database, find, check, toValue, cached, hears } = options;
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

  async function recheck(): Promise<void> {
    rechecks += 1;
    const keys = [...new Set([...cached.keys(), ...watched.keys()])];
    if (keys.length === 0) return;
    const published = new Set((await database.query(check, [keys])).map(({ key }) => key));
    for (const key of keys) {
      if (published.has(key)) continue;
      cached.delete(key);
      for (const onRetired of [...(watched.get(key) ?? [])]) onRetired();
    }
  }

  return {
    get(key) {
      const value = hears() ? cached.get(key) : undefined;
      return value ?? readAndCache(key);
    },
    knows: (key) => cached.has(key),
    watch(key, onRetired) {
      const streams = watched.get(key) ?? new Set();
      watched.set(key, streams.add(onRetired));
      return () => {
        streams.delete(onRetired);
        if (streams.size === 0 && watched.get(key) === streams) watched.delete(key);
      };
    },
    recheck,
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

export interface Catalog {
  readonly byId: Pick<KnownPublished<KnownDocument>, 'get'>;
  /**
   * Resolves to true if a document was ever published.
   * @throws {DatabaseError} as a rejection
   */
  hasDocuments(): Promise<boolean>;
  /** Keyed by the digest of the documents. */
  readonly byDigest: Pick<KnownPublished<true>, 'get'>;
  /** @returns a function that stops watching */
  watch(running: PublishedBy, onRetired: () => void): () => void;
  /** Starts a check for documents that were retired. */
  recheck(): void;
  close(): void;
}

export interface KnownDocument {
  /** @throws the errors of parsing */
  prepared(): PreparedDocument;
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
class KnownText implements KnownDocument {
  readonly text: string;
  readonly #parse: (text: string) => PreparedDocument;
  #used = false;
  #document: PreparedDocument | undefined;

  constructor(text: string, parse: (text: string) => PreparedDocument) {
    this.text = text;
    this.#parse = parse;
  }

  prepared(): PreparedDocument {
    if (this.#document !== undefined) return this.#document;
    const document = this.#parse(this.text);
    if (this.#used) this.#document = document;
    this.#used = true;
    return document;
  }
}

export function createCatalog(options: CatalogOptions): Catalog {
  const { database, documents, hears, recheckMs, log } = options;
  const cachedDocuments = new LRUCache<string, KnownText>({
    max: MAX_KNOWN,
    maxSize: MAX_LENGTH,
    sizeCalculation: ({ text }) => text.length,
  });
  const byId = createKnownPublished({
    database,
    find: FIND_DOCUMENTS,
    check: CHECK_DOCUMENTS,
    toValue: ({ text, schema }) =>
      new KnownText(text, schema === documents.schemaId() ? documents.parseChecked : documents.parse),
    cached: cachedDocuments,
    hears,
  });
  const digests = new LRUCache<string, true>({ max: MAX_DIGESTS });
  const byDigest = createKnownPublished({
    database,
    find: CHECK_DIGESTS,
    check: CHECK_DIGESTS,
    toValue: () => true as const,
    cached: digests,
    hears,
  });
  const outage = createOutageReporter(log, 'documents.refresh_failed', 'documents.recovered');
  let checking = false;
  let again = false;
  let closed = false;

  async function check(): Promise<void> {
    if (closed) return;
    checking = true;
    let pauseMs = 0;
    try {
      await Promise.all([byId.recheck(), byDigest.recheck()]);
      outage.over();
    } catch (error) {
      // During the outage, no document runs without a look-up in the database.
      cachedDocuments.clear();
      digests.clear();
      outage.failed({ err: error });
      again = true;
      pauseMs = RETRY_MS;
    }
    if (!again || closed) checking = false;
    else setTimeout(check, pauseMs).unref();
    again = false;
  }

  function recheck(): void {
    if (checking) again = true;
    else void check();
  }

  const timer = setInterval(recheck, recheckMs).unref();
  return {
    byId,
    byDigest,
    hasDocuments: async () => (await database.query(HAS_DOCUMENTS, []))[0]?.found === true,
    watch({ by, key }, onRetired) {
      const published = by === 'id' ? byId : byDigest;
      const stop = published.watch(key, onRetired);
      // The document may have been retired after the stages accepted the request.
      if (!published.knows(key)) recheck();
      return stop;
    },
    recheck,
    close() {
      closed = true;
      clearInterval(timer);
    },
  };
}
