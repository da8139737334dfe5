import { readFile } from 'node:fs/promises';
import { SocketAddress } from 'node:net';
import { endianness } from 'node:os';
import { tryLater } from '../../platform/errors.ts';
import type { Logger } from '../../platform/log/log.ts';
import type { ClientSocket } from '../documents/operation-request.ts';

/** Linux's tables of TCP connections in this process's network namespace (proc_pid_net(5)). */
const TABLES = [
  { path: '/proc/net/tcp', family: 'ipv4' },
  { path: '/proc/net/tcp6', family: 'ipv6' },
] as const;

export function connectionKey(localPort: number, remoteAddress: string, remotePort: number): string {
  return `${localPort} ${remoteAddress.replace(/%.*$/, '')} ${remotePort}`;
}

/**
 * `sl: local:port remote:port state tx_queue:rx_queue timer:when retransmits uid probes`. Rows with an empty tx_queue
 * do not match.
 */
const ROW = /: \w+:(\w{4}) (\w+):(\w{4}) \w\w (?!00000000)\w{8}:\w{8} \w\w:\w{8} (\w{8}) +\d+ +(\d+) /g;

/** Formats an IP address as Node prints it. The kernel prints each 32-bit word in host byte order. */
function addressOf(hex: string, family: 'ipv4' | 'ipv6', order: 'BE' | 'LE'): string {
  const bytes = Buffer.from(hex, 'hex');
  if (order === 'LE') bytes.swap32();
  const address =
    family === 'ipv4' ? bytes.join('.') : (bytes.toString('hex').match(/.{4}/g) ?? []).join(':');
  return new SocketAddress({ address, family }).address;
}

export function findUnacknowledged(
  table: string,
  family: 'ipv4' | 'ipv6',
  order: 'BE' | 'LE' = endianness(),
): Map<string, number> {
  const found = new Map<string, number>();
  for (const [, local = '', remote = '', port = '', retransmits = '', probes = ''] of table.matchAll(ROW)) {
    const times = Number.parseInt(retransmits, 16) + Number(probes);
    if (times === 0) continue;
    const address = addressOf(remote, family, order);
    found.set(connectionKey(Number.parseInt(local, 16), address, Number.parseInt(port, 16)), times);
  }
  return found;
}

/** Undefined on systems other than Linux, which lack these tables. */
async function readUnacknowledged(): Promise<ReadonlyMap<string, number> | undefined> {
  const found = new Map<string, number>();
  let tables = 0;
  for (const { path, family } of TABLES) {
    const table = await readFile(path, 'latin1').catch(() => undefined);
    if (table === undefined) continue;
    tables += 1;
    for (const [key, times] of findUnacknowledged(table, family)) found.set(key, times);
  }
  return tables === 0 ? undefined : found;
}

export interface HalfOpenWatchOptions {
  readonly log: Logger;
  readonly onEnd: () => void;
  readonly unacknowledged?: typeof readUnacknowledged;
}

/** A stream sends data every 12 s, so three looks without an acknowledgement take less than 45 s in all. */
const LOOK_INTERVAL_MS = 10_000;
const LOOKS = 3;
/** If a client needs the slot, two failed sends are enough, because the client can resume after a wrong guess. */
const FAILED_SENDS = 2;
/** Reading a table of 10,000 connections takes 30 ms, so repeated requests share one reading. */
const SHARED_MS = 1_000;

function keyOf({ localPort, remoteAddress, remotePort }: ClientSocket): string | undefined {
  if (localPort === undefined || remoteAddress === undefined || remotePort === undefined) return undefined;
  return connectionKey(localPort, remoteAddress, remotePort);
}

/**
 * Closes connections of event streams whose clients have vanished silently. TCP drops a silent peer only after a
 * quarter of an hour (tcp_retries2), and Node cannot set TCP_USER_TIMEOUT. The kernel does report how often sending
 * has failed (docs/decisions/0011-half-open-streams.md).
 */
export function createHalfOpenWatch({
  log,
  onEnd,
  unacknowledged = readUnacknowledged,
}: HalfOpenWatchOptions) {
  /** `looks` counts the consecutive looks without an acknowledgement. */
  const watched = new Map<ClientSocket, { readonly key: string; looks: number }>();
  let timer: NodeJS.Timeout | undefined;
  let shared: { readonly table: ReturnType<typeof readUnacknowledged>; readonly atMs: number } | undefined;

  function end(connections: readonly ClientSocket[], reason: 'silent' | 'needed'): void {
    if (connections.length === 0) return;
    log.emit('streams.dead_clients_closed', { connections: connections.length, reason });
    for (const connection of connections) {
      watched.delete(connection);
      connection.resetAndDestroy();
      onEnd();
    }
  }

  async function look(): Promise<void> {
    const table = await unacknowledged();
    if (table === undefined) {
      log.emit('streams.dead_client_detection_off');
      return;
    }
    const silent: ClientSocket[] = [];
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
        log.emit('streams.connection_table_failed', { err: error });
        schedule();
      });
    }, LOOK_INTERVAL_MS).unref();
  }

  return {
    watch(connection: ClientSocket): () => void {
      const key = keyOf(connection);
      if (key === undefined) return () => undefined;
      watched.set(connection, { key, looks: 0 });
      if (timer === undefined) schedule();
      return () => void watched.delete(connection);
    },
    /** Closes and returns the connections on which sending has recently failed. Never throws. */
    async endSilent(connections: readonly ClientSocket[]): Promise<readonly ClientSocket[]> {
      const nowMs = performance.now();
      if (shared === undefined || nowMs - shared.atMs > SHARED_MS)
        shared = { table: unacknowledged(), atMs: nowMs };
      const table = await shared.table.catch((error: unknown) => {
        log.emit('streams.connection_table_failed', { err: error });
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

export interface StreamOwner {
  readonly client: string;
  /** All clients of an account share a limit. */
  readonly account?: string | undefined;
  readonly connection?: ClientSocket | undefined;
}

export interface StreamLimitOptions {
  /** Streams per client on this instance (contract: limits). */
  readonly maximum: number;
  /** A multiple of a client's limit (contract: limits). */
  readonly accountFactor: number;
  readonly halfOpen: ReturnType<typeof createHalfOpenWatch>;
}

interface OpenStream {
  readonly connection: ClientSocket | undefined;
  close(): void;
}

interface Bound {
  readonly name: string;
  readonly most: number;
  readonly who: string;
}

export function createStreamLimit({ maximum, accountFactor, halfOpen }: StreamLimitOptions) {
  /** Names of clients and accounts never collide. */
  const owned = new Map<string, Set<OpenStream>>();
  let total = 0;

  const isFull = ({ name, most }: Bound) => (owned.get(name)?.size ?? 0) >= most;

  function boundsOf({ client, account }: StreamOwner): Bound[] {
    const own = { name: client, most: maximum, who: 'client' };
    if (account === undefined) return [own];
    return [own, { name: account, most: maximum * accountFactor, who: 'account' }];
  }

  /** A client whose network keeps failing reaches its limit by its own dead streams, so these are closed first. */
  async function endDead(name: string): Promise<void> {
    const streams = [...(owned.get(name) ?? [])];
    const ended = await halfOpen.endSilent(streams.flatMap(({ connection }) => connection ?? []));
    for (const stream of streams)
      if (stream.connection !== undefined && ended.includes(stream.connection)) stream.close();
  }

  function remove(stream: OpenStream, name: string): boolean {
    const streams = owned.get(name);
    if (!streams?.delete(stream)) return false;
    if (streams.size === 0) owned.delete(name);
    return true;
  }

  return {
    /**
     * Rejects with RATE_LIMITED if the client or its account is at its limit and no stream has a dead connection.
     * @returns a function that removes the stream once
     */
    async open(owner: StreamOwner): Promise<() => void> {
      const bounds = boundsOf(owner);
      for (const bound of bounds) if (isFull(bound)) await endDead(bound.name);
      const full = bounds.find(isFull);
      if (full !== undefined) {
        const message = `Your ${full.who} has ${full.most} event streams open, which is the limit. Close one before you open another.`;
        throw tryLater('RATE_LIMITED', message, 5);
      }
      const { client, account, connection } = owner;
      const leave = connection === undefined ? undefined : halfOpen.watch(connection);
      const stream: OpenStream = {
        connection,
        close() {
          if (!remove(stream, client)) return;
          if (account !== undefined) remove(stream, account);
          total -= 1;
          leave?.();
        },
      };
      for (const { name } of bounds) owned.set(name, (owned.get(name) ?? new Set()).add(stream));
      total += 1;
      return stream.close;
    },
    get total(): number {
      return total;
    },
  };
}

export type StreamLimit = ReturnType<typeof createStreamLimit>;
