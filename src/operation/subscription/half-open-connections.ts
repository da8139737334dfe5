import type { Logger } from '../../platform/log.ts';
import { connectionKey, unansweredConnections } from '../../platform/unanswered-connections.ts';
import type { Connection } from '../../request/request-state.ts';

export interface HalfOpenWatchOptions {
  readonly log: Logger;
  /** Called for each ended connection. */
  readonly onEnd: () => void;
  readonly unanswered?: typeof unansweredConnections;
}

/** A stream sends something every 12 seconds: three unanswered looks take less than 45 seconds in all. */
const LOOK_INTERVAL_MS = 10_000;
const LOOKS = 3;
/**
 * If a client needs the slot, two failed sends are enough: the guess may be wrong, but the client can resume.
 */
const FAILED_SENDS = 2;
/** Reading a table of 10,000 connections takes 30 ms: repeated requests share one reading. */
const SHARED_MS = 1_000;

function keyOf({ localPort, remoteAddress, remotePort }: Connection): string | undefined {
  if (localPort === undefined || remoteAddress === undefined || remotePort === undefined) return undefined;
  return connectionKey(localPort, remoteAddress, remotePort);
}

/**
 * Ends connections of event streams whose clients have vanished silently. TCP drops a silent peer only after a quarter
 * of an hour (tcp_retries2), and Node cannot set TCP_USER_TIMEOUT. The kernel does report how often sending has failed
 * (docs/decisions/0011-half-open-streams.md).
 */
export function createHalfOpenWatch({
  log,
  onEnd,
  unanswered = unansweredConnections,
}: HalfOpenWatchOptions) {
  /** Each connection, and how many looks in a row have found it unanswered. */
  const watched = new Map<Connection, { readonly key: string; looks: number }>();
  let timer: NodeJS.Timeout | undefined;
  let shared: { readonly table: ReturnType<typeof unansweredConnections>; readonly atMs: number } | undefined;

  function end(connections: readonly Connection[], reason: 'silent' | 'needed'): void {
    if (connections.length === 0) return;
    log.info({ connections: connections.length, reason }, 'ended event streams of unresponsive clients');
    for (const connection of connections) {
      watched.delete(connection);
      connection.resetAndDestroy();
      onEnd();
    }
  }

  async function look(): Promise<void> {
    const table = await unanswered();
    if (table === undefined) {
      log.info('this system does not report dead connections: event streams of vanished clients end late');
      return;
    }
    const silent: Connection[] = [];
    for (const [connection, state] of watched) {
      state.looks = table.has(state.key) ? state.looks + 1 : 0;
      if (state.looks >= LOOKS) silent.push(connection);
    }
    end(silent, 'silent');
    schedule();
  }

  function schedule(): void {
    timer = undefined;
    if (watched.size === 0) return;
    timer = setTimeout(() => {
      look().catch((error: unknown) => {
        log.warn({ err: error }, 'could not read the table of connections; trying again');
        schedule();
      });
    }, LOOK_INTERVAL_MS).unref();
  }

  return {
    /** Watches a connection. Returns a function that stops watching. */
    watch(connection: Connection): () => void {
      const key = keyOf(connection);
      if (key === undefined) return () => undefined;
      watched.set(connection, { key, looks: 0 });
      if (timer === undefined) schedule();
      return () => void watched.delete(connection);
    },
    /** Ends those of the connections on which sending has recently failed, and returns them. Never throws. */
    async endSilent(connections: readonly Connection[]): Promise<readonly Connection[]> {
      const nowMs = performance.now();
      if (shared === undefined || nowMs - shared.atMs > SHARED_MS)
        shared = { table: unanswered(), atMs: nowMs };
      const table = await shared.table.catch((error: unknown) => {
        log.warn({ err: error }, 'could not read the table of connections');
        return undefined;
      });
      const silent = connections.filter((connection) => {
        const key = keyOf(connection);
        return key !== undefined && watched.has(connection) && (table?.get(key) ?? 0) >= FAILED_SENDS;
      });
      end(silent, 'needed');
      return silent;
    },
  };
}
