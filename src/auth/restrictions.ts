import { LRUCache } from 'lru-cache';
import { isOutage } from '../database/errors.ts';
import { coalesceRuns } from '../platform/async.ts';
import type { Clock } from '../platform/deadline.ts';
import { createNetworkMatcher, LOOPBACK, normaliseAddress } from '../platform/ip-address.ts';
import { createOutageReporter } from '../platform/log/log-limits.ts';
import { type AccountLimits, readAccountLimits, readBlocks } from './restriction-store.ts';
import type { UseServices } from './secrets.ts';

export interface Origin {
  readonly clientAddress: string;
  readonly connection: { readonly localAddress?: string | undefined } | undefined;
}

interface RestrictionsOptions extends UseServices {
  readonly trustProxy: readonly string[];
  /** True while the process receives notifications of changes. */
  readonly hears: () => boolean;
  readonly recheckMs: number;
}

/** Interval of reads without notifications or after a failure, so that changes apply within a second. */
const POLL_INTERVAL_MS = 300;
const MAX_CACHED_VERDICTS = 10_000;

interface Block {
  readonly network: string;
  /** Expiry in elapsed time. */
  readonly endsMs: number;
}

function lookUpIn(blocks: readonly Block[], clock: Clock): (address: string) => boolean {
  const remembered = new LRUCache<string, boolean>({ max: MAX_CACHED_VERDICTS });
  let isListed = createNetworkMatcher([]);
  let current: readonly Block[] = blocks;
  let nextEndMs = Number.NEGATIVE_INFINITY;

  function refresh(nowMs: number): void {
    current = current.filter(({ endsMs }) => endsMs > nowMs);
    nextEndMs = Math.min(...current.map(({ endsMs }) => endsMs));
    isListed = createNetworkMatcher(current.map(({ network }) => network));
    remembered.clear();
  }

  return (address) => {
    if (current.length === 0) return false;
    const nowMs = clock.elapsedMs();
    if (nowMs >= nextEndMs) refresh(nowMs);
    let found = remembered.get(address);
    if (found === undefined) {
      found = isListed(address);
      remembered.set(address, found);
    }
    return found;
  };
}

/** Every instance caches all restrictions that operators set. */
export function createRestrictions(options: RestrictionsOptions) {
  const { database, clock, log, hears, recheckMs } = options;
  const isExempt = createNetworkMatcher([...options.trustProxy, ...LOOPBACK]);
  const outage = createOutageReporter(log, 'restrictions.refresh_failed', 'restrictions.recovered');
  const watched = new Set<() => void>();
  let isBlocked = lookUpIn([], clock);
  let limits: ReadonlyMap<string, AccountLimits> = new Map();
  let failed = false;
  let loaded = false;
  const firstAttempt = Promise.withResolvers<void>();
  let loading: Promise<void> | undefined = firstAttempt.promise;
  let closed = false;
  let nextMs = 0;

  const mayBeBlocked = ({ clientAddress, connection }: Origin): boolean =>
    !isExempt(clientAddress) && clientAddress !== normaliseAddress(connection?.localAddress ?? '');
  const blocks = (origin: Origin) => isBlocked(origin.clientAddress) && mayBeBlocked(origin);

  const read = coalesceRuns(async () => {
    if (closed) return;
    const askedMs = clock.elapsedMs();
    nextMs = performance.now() + recheckMs;
    try {
      const [found, accounts] = await Promise.all([readBlocks(database), readAccountLimits(database)]);
      const current = found.map(({ network, leftMs }) => ({
        network,
        endsMs: askedMs + (leftMs ?? Infinity),
      }));
      isBlocked = lookUpIn(current, clock);
      limits = accounts;
      failed = false;
      loaded = true;
      outage.over();
      if (current.length > 0) for (const check of [...watched]) check();
    } catch (error) {
      failed = true;
      // The watch of the database logs outages.
      if (isOutage(error)) log.emit('restrictions.refresh_failed', { err: error }, 'debug');
      else if (!closed) outage.failed({ err: error });
    } finally {
      // Requests do not wait for a retry, because the timer may retry forever.
      loading = undefined;
      firstAttempt.resolve();
    }
  });

  const timer = setInterval(() => {
    if (failed || !hears() || performance.now() >= nextMs) void read();
  }, POLL_INTERVAL_MS).unref();
  void read();

  return {
    /**
     * Requests of this machine, or of a proxy itself, are never blocked, so that a wrong block cannot lock
     * operators out.
     */
    blocks,
    /**
     * Calls `onBlocked` once requests from the origin are rejected.
     * @returns a function that stops the watch
     */
    watch(origin: Origin, onBlocked: () => void): () => void {
      const { clientAddress, connection } = origin;
      const check = () => {
        if (blocks({ clientAddress, connection })) onBlocked();
      };
      watched.add(check);
      // The IP address may have been blocked since the request was admitted.
      queueMicrotask(check);
      return () => watched.delete(check);
    },
    /** @returns undefined if the account has the limits of the settings */
    limitsOf: (account: string): AccountLimits | undefined => limits.get(account),
    /** The first attempt to read the restrictions; undefined once the attempt is complete. Never rejects. */
    get loading(): Promise<void> | undefined {
      return loading;
    },
    get loaded(): boolean {
      return loaded;
    },
    recheck: (): void => void read(),
    close(): void {
      closed = true;
      clearInterval(timer);
    },
  };
}

export type Restrictions = ReturnType<typeof createRestrictions>;
