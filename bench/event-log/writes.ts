import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';

export interface Written {
  readonly count: number;
  /** Milliseconds, sorted. */
  readonly latencies: Float64Array;
}

/** As a mutation appends it. */
const APPEND = {
  name: 'append',
  text: `INSERT INTO events (kind, root_id, owner_id) VALUES ('POST_CREATED', $1, $2)`,
};
const OWNERS = 10_000;

/** An owner of those whom the loaded events have. */
export const ownerSql = (number: string) =>
  `('00000000-0000-7000-8000-' || lpad(to_hex(${number} % ${OWNERS}), 12, '0'))::uuid`;
const ownerOf = (number: number) =>
  `00000000-0000-7000-8000-${(number % OWNERS).toString(16).padStart(12, '0')}`;

/** Appends events on all connections of a pool, each as a transaction, for a time or until told to stop. */
export async function writeFor(pool: Pool, forMs: number, signal?: AbortSignal): Promise<Written> {
  const latencies: number[] = [];
  const untilMs = performance.now() + forMs;
  let turn = 0;
  const one = async () => {
    const client = await pool.connect();
    try {
      while (performance.now() < untilMs && signal?.aborted !== true) {
        const startedMs = performance.now();
        turn += 1;
        await client.query({ ...APPEND, values: [randomUUID(), ownerOf(turn * 7_919)] });
        latencies.push(performance.now() - startedMs);
      }
    } finally {
      client.release();
    }
  };
  await Promise.all(Array.from({ length: pool.options.max ?? 1 }, one));
  return { count: latencies.length, latencies: Float64Array.from(latencies).sort() };
}
