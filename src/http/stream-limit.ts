import { ApiError } from '../graphql/errors.ts';
import type { Connection, HalfOpenWatch } from './half-open.ts';

/** Counts the open event streams of each client. */
export interface StreamLimit {
  /**
   * Counts one more, over a connection where there is one. Rejects with RATE_LIMITED where the client has its most and
   * none of them is over a dead connection. Returns what takes it off, once.
   */
  open(client: string, connection?: Connection | undefined): Promise<() => void>;
  readonly total: number;
}

interface OpenStream {
  readonly connection: Connection | undefined;
  close(): void;
}

/** At most `maximum` streams a client and instance (contract section 5). */
export function createStreamLimit(maximum: number, halfOpen: HalfOpenWatch): StreamLimit {
  const clients = new Map<string, Set<OpenStream>>();
  let total = 0;

  const isFull = (client: string) => (clients.get(client)?.size ?? 0) >= maximum;

  /** A client whose network fails again and again meets its own dead streams: those give way. */
  async function endDead(client: string): Promise<void> {
    const streams = [...(clients.get(client) ?? [])];
    const ended = await halfOpen.endSilent(streams.flatMap(({ connection }) => connection ?? []));
    for (const stream of streams)
      if (stream.connection !== undefined && ended.includes(stream.connection)) stream.close();
  }

  return {
    async open(client, connection) {
      if (isFull(client)) await endDead(client);
      if (isFull(client)) {
        throw new ApiError('RATE_LIMITED', `At most ${maximum} event streams may be open at a time.`, {
          headers: { 'retry-after': '5' },
        });
      }
      const streams = clients.get(client) ?? new Set();
      const leave = connection === undefined ? undefined : halfOpen.watch(connection);
      const stream: OpenStream = {
        connection,
        close() {
          if (!streams.delete(stream)) return;
          total -= 1;
          leave?.();
          if (streams.size === 0 && clients.get(client) === streams) clients.delete(client);
        },
      };
      clients.set(client, streams.add(stream));
      total += 1;
      return stream.close;
    },
    get total() {
      return total;
    },
  };
}
