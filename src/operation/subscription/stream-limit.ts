import { ApiError } from '../../graphql/errors.ts';
import type { Connection } from '../../request/request-state.ts';
import type { createHalfOpenWatch } from './half-open-connections.ts';

/** Who owns a stream, and its connection if there is one. */
export interface StreamOwner {
  readonly client: string;
  /** The account behind the client's credentials. All clients of an account share a limit. */
  readonly account?: string | undefined;
  readonly connection?: Connection | undefined;
}

/** Counts open event streams per client and per account. */
export interface StreamLimit {
  /**
   * Adds a stream and returns a function that removes it once. Rejects with RATE_LIMITED if the client or its
   * account is at its limit and none of its streams has a dead connection.
   */
  open(owner: StreamOwner): Promise<() => void>;
  readonly total: number;
}

export interface StreamLimitOptions {
  /** Streams per client on this instance (contract section 5). */
  readonly maximum: number;
  /**
   * Limit of all credentials of an account together, as a multiple of a client's limit (contract section 5).
   */
  readonly accountFactor: number;
  readonly halfOpen: ReturnType<typeof createHalfOpenWatch>;
}

interface OpenStream {
  readonly connection: Connection | undefined;
  close(): void;
}

interface Bound {
  readonly name: string;
  readonly most: number;
  readonly who: string;
}

export function createStreamLimit({ maximum, accountFactor, halfOpen }: StreamLimitOptions): StreamLimit {
  /** By client and by account: their names never collide. */
  const owned = new Map<string, Set<OpenStream>>();
  let total = 0;

  const isFull = ({ name, most }: Bound) => (owned.get(name)?.size ?? 0) >= most;

  function boundsOf({ client, account }: StreamOwner): Bound[] {
    const own = { name: client, most: maximum, who: 'client' };
    if (account === undefined) return [own];
    return [own, { name: account, most: maximum * accountFactor, who: 'account' }];
  }

  /** A client whose network keeps failing runs into its own dead streams: end those first. */
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
    async open(owner) {
      const bounds = boundsOf(owner);
      for (const bound of bounds) if (isFull(bound)) await endDead(bound.name);
      const full = bounds.find(isFull);
      if (full !== undefined) {
        const message = `At most ${full.most} event streams per ${full.who} may be open at a time.`;
        throw new ApiError('RATE_LIMITED', message, { headers: { 'retry-after': '5' } });
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
    get total() {
      return total;
    },
  };
}
