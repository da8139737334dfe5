import { ApiError } from '../graphql/errors.ts';

/** Counts the open event streams of each client. */
export interface StreamLimit {
  /** Counts one more. Throws RATE_LIMITED where the client has its most. Returns what takes it off, once. */
  open(client: string): () => void;
  readonly total: number;
}

/** At most `maximum` streams a client and instance (contract section 5). */
export function createStreamLimit(maximum: number): StreamLimit {
  const streams = new Map<string, number>();
  let total = 0;
  return {
    open(client) {
      const count = streams.get(client) ?? 0;
      if (count >= maximum) {
        throw new ApiError('RATE_LIMITED', `At most ${maximum} event streams may be open at a time.`, {
          headers: { 'retry-after': '5' },
        });
      }
      streams.set(client, count + 1);
      total += 1;
      let open = true;
      return () => {
        if (!open) return;
        open = false;
        total -= 1;
        const left = (streams.get(client) ?? 1) - 1;
        if (left === 0) streams.delete(client);
        else streams.set(client, left);
      };
    },
    get total() {
      return total;
    },
  };
}
