import { eventLoopUtilization } from 'node:perf_hooks';
import type { Database } from '../../database/database.ts';
import { getDatabaseErrorCode, isOutage } from '../../database/errors.ts';
import type { LogEvent } from '../../engine/events/event.ts';
import { readAfter, readNow } from '../../engine/events/event-log.ts';
import type { Logger } from '../../platform/log/log.ts';
import { createOutageReporter } from '../../platform/log/log-limits.ts';
import type { Metrics } from '../../platform/metrics/metrics.ts';
import { POST_CREATED, POST_DELETED, POST_UPDATED } from '../event-kinds.ts';
import {
  type Applied,
  applyChanges,
  beginIndex,
  compareEntries,
  comparePosts,
  type IndexChanges,
  type IndexPosition,
  moveIndex,
  readPosition,
  readPosts,
} from './index-store.ts';
import { buildDocument } from './words.ts';

const KINDS: ReadonlySet<string> = new Set([POST_CREATED.name, POST_UPDATED.name, POST_DELETED.name]);
/** Events in one read of the log, and posts or entries in one step of a comparison. */
const BATCH = 200;
/** A search reads whole buckets, so a bucket must be small, but each bucket takes a look-up for each word. */
const BUCKET_POSTS = 4_096;
/** Twenty long bodies take 4 MB. */
const POSTS_A_READ = 20;
/** A transaction delays all events for as long as it writes, about 10 µs for each word. */
const MAX_LEXEMES = 5_000;
/** Events that arrive within this time are indexed together. */
const GATHER_MS = 50;
const UNDEFINED_TABLE = '42P01';
/** Notifications can get lost. */
const POLL_MS = 1_000;
/** PostgreSQL sends no notification when a blocking transaction ends. */
const BLOCKED_POLL_MS = 100;
/** The pause after a step is as long as the step, and up to this many times longer while requests keep the process busy. */
const BUSY_RESTS = 9;
/** Shorter comparisons are not logged. */
const LOGGED_AFTER_MS = 5_000;

/** Thrown if another instance or a command changes the position, or the service stops. The next step does the rest. */
class StepInterruptedError extends Error {}

export interface SearchIndexerOptions {
  readonly database: Database;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** True if this instance is the one that indexes. Two at a time cannot damage the index, but repeat all work. */
  readonly isElected: () => Promise<boolean>;
  /** The number of posts in a full bucket. */
  readonly bucketPosts?: number;
}

/** Follows the event log, and writes the search index and the counts of tags. */
export function createSearchIndexer(options: SearchIndexerOptions) {
  const { database, log, metrics, isElected, bucketPosts = BUCKET_POSTS } = options;
  const failure = createOutageReporter(log, 'search.indexing_failed', 'search.indexing_recovered');
  let pendingSinceMs: number | undefined;
  let postsBehind = 0;
  let comparison: { readonly sinceMs: number; isLogged: boolean } | undefined;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let dueMs = Number.POSITIVE_INFINITY;
  let isOn = false;
  let isClosed = false;
  let pauseStart = eventLoopUtilization();
  let restsUntilMs = 0;
  let elected = false;
  let again = false;

  async function apply(position: IndexPosition, changes: IndexChanges): Promise<Applied> {
    const applied = await applyChanges(database, position, changes, bucketPosts);
    if (applied === undefined) throw new StepInterruptedError();
    return applied;
  }

  /** Indexes posts in short transactions. The last one moves the position. */
  async function indexPosts(
    from: IndexPosition,
    ids: readonly string[],
    position: Partial<IndexPosition>,
  ): Promise<Applied> {
    let current = from;
    let entries: NonNullable<IndexChanges['entries']>[number][] = [];
    let lexemes = 0;
    const missing = new Set(ids);
    for (let at = 0; at < ids.length; at += POSTS_A_READ)
      for (const post of await readPosts(database, ids.slice(at, at + POSTS_A_READ))) {
        if (isClosed) throw new StepInterruptedError();
        const document = await buildDocument(post);
        missing.delete(post.id);
        entries.push({ ...post, document });
        lexemes += document.lexemes;
        if (lexemes < MAX_LEXEMES) continue;
        current = await apply(current, { entries });
        entries = [];
        lexemes = 0;
      }
    return apply(current, { entries, removed: [...missing], position });
  }

  function follow(position: IndexPosition, events: readonly LogEvent[]): Promise<IndexPosition> {
    const ids = events.filter(({ kind }) => KINDS.has(kind)).map(({ aggregateId }) => aggregateId);
    const { id, checksum } = events.at(-1)?.position ?? position;
    return indexPosts(position, [...new Set(ids)], { id, checksum });
  }

  /** Compares the next posts with the index, the newest first, and then the entries with the posts. */
  async function compare(position: IndexPosition): Promise<void> {
    comparison ??= { sinceMs: performance.now(), isLogged: false };
    if (!comparison.isLogged && performance.now() - comparison.sinceMs > LOGGED_AFTER_MS) {
      comparison.isLogged = true;
      log.emit('search.comparison_started');
    }
    if (position.phase === 'posts') {
      const posts = await comparePosts(database, position, BATCH);
      const last = posts.length < BATCH ? undefined : posts.at(-1);
      const stale = posts.filter(({ isStale }) => isStale).map(({ id }) => id);
      const next: Partial<IndexPosition> =
        last === undefined
          ? { phase: 'entries', phaseAt: null, phaseId: null }
          : { phaseAt: last.createdAt, phaseId: last.id };
      const { bucket } = await indexPosts(position, stale, next);
      postsBehind = bucket === null ? 0 : (bucket + 1) * bucketPosts;
      return;
    }
    const entries = await compareEntries(database, position, BATCH);
    const last = entries.length < BATCH ? undefined : entries.at(-1);
    const removed = entries.filter(({ isStale }) => isStale).map(({ id }) => id);
    const next: Partial<IndexPosition> =
      last === undefined ? { phase: null, phaseId: null, rewrites: false } : { phaseId: last.id };
    await apply(position, { removed, position: next });
    if (last !== undefined) return;
    const durationSeconds = Math.round((performance.now() - comparison.sinceMs) / 1_000);
    if (comparison.isLogged) log.emit('search.comparison_completed', { durationSeconds });
    comparison = undefined;
  }

  /** @returns the time until the next step */
  async function step(): Promise<number> {
    const position = await readPosition(database);
    if (position === undefined) {
      await beginIndex(database, await readNow(database, log), bucketPosts);
      return 0;
    }
    const { state, found, events, blocked } = await readAfter(database, position, BATCH);
    if (!found || state?.generation !== position.generation) {
      log.emit('search.events_lost');
      await moveIndex(database, position, await readNow(database, log));
      return 0;
    }
    const [first] = events;
    const isFull = events.length === BATCH;
    const isComparing = position.phase !== null;
    let followed = position;
    if (first !== undefined) {
      pendingSinceMs = first.createdAt.getTime();
      if (!isComparing) postsBehind = events.length;
      followed = await follow(position, events);
    }
    if (!isFull) pendingSinceMs = undefined;
    if (isComparing) await compare(followed);
    else if (!isFull) postsBehind = 0;
    if (isComparing || isFull) return 0;
    return blocked ? BLOCKED_POLL_MS : POLL_MS;
  }

  /** @returns the time until the next step */
  async function tryStep(): Promise<number> {
    try {
      elected = await isElected();
      if (!elected) {
        pendingSinceMs = undefined;
        postsBehind = 0;
        return POLL_MS;
      }
      const pauseMs = await step();
      failure.over();
      return pauseMs;
    } catch (error) {
      if (error instanceof StepInterruptedError) return GATHER_MS;
      // The watch of the database logs outages, and another line logs pending migrations.
      if (!isOutage(error) && getDatabaseErrorCode(error) !== UNDEFINED_TABLE) failure.failed({ err: error });
      return POLL_MS;
    }
  }

  async function run(): Promise<void> {
    again = false;
    const startedMs = performance.now();
    const { utilization } = eventLoopUtilization(pauseStart);
    const pauseMs = await tryStep();
    const rests = 1 + BUSY_RESTS * utilization;
    const restMs = Math.max(GATHER_MS, rests * (performance.now() - startedMs));
    restsUntilMs = performance.now() + restMs;
    pauseStart = eventLoopUtilization();
    schedule(again ? restMs : Math.max(restMs, pauseMs));
  }

  /** The earlier of two requested times counts. */
  function schedule(pauseMs: number): void {
    if (!isOn || dueMs <= performance.now() + pauseMs) return;
    clearTimeout(timer);
    dueMs = performance.now() + pauseMs;
    timer = setTimeout(() => {
      dueMs = Number.POSITIVE_INFINITY;
      running = run().finally(() => {
        running = undefined;
      });
    }, pauseMs).unref();
  }

  metrics.gauge(
    'content_graph_search_lag_seconds',
    'Age of the oldest change that the index lacks. 0 if none, or if another instance indexes.',
    () => (pendingSinceMs === undefined ? 0 : Math.max(0, (Date.now() - pendingSinceMs) / 1_000)),
  );
  metrics.gauge(
    'content_graph_search_posts_behind',
    'Posts that the index may lack, estimated during a comparison. 0 if another instance indexes.',
    () => postsBehind,
  );

  return {
    start(): void {
      isOn = true;
      schedule(0);
    },
    /** Signals a possible commit. */
    wake(): void {
      if (running !== undefined) again = true;
      else if (elected) schedule(Math.max(GATHER_MS, restsUntilMs - performance.now()));
    },
    /**
     * Makes one step immediately, for a caller that has not started the indexer.
     * @returns false if there is nothing more to do
     */
    async step(): Promise<boolean> {
      return (await step()) === 0;
    },
    async close(): Promise<void> {
      isOn = false;
      isClosed = true;
      clearTimeout(timer);
      await running;
    },
  };
}
