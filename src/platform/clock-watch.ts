import type { Clock } from './clock.ts';
import { isOutage } from './db/errors.ts';
import { type Queryable, statement } from './db/statement.ts';
import type { Logger } from './log.ts';
import type { Metrics } from './metrics.ts';
import { createOutageLog } from './outage-log.ts';

const INTERVAL_MS = 60_000;
/** A smaller difference has no visible effect. */
const MOST_MS = 2_000;

const NOW = statement<{ ms: number }>(
  'clock_now',
  'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms',
);

/**
 * Computes how far a clock is ahead of the clock of the database. The round trip is long at most on one way, so the clocks
 * differ by at least `surelyMs`.
 * @throws {DatabaseError}
 */
async function compareClock(db: Queryable, clock: Clock): Promise<{ aheadMs: number; surelyMs: number }> {
  const beforeMs = clock.now();
  const [row] = await db.query(NOW, []);
  const afterMs = clock.now();
  if (row === undefined) throw new Error('the database has returned no row');
  const aheadMs = Math.round((beforeMs + afterMs) / 2 - row.ms);
  return { aheadMs, surelyMs: Math.max(0, Math.abs(aheadMs) - Math.abs(afterMs - beforeMs) / 2) };
}

export interface ClockWatchOptions {
  readonly database: Queryable;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** The clock of this machine beside that of the database. */
export interface ClockWatch {
  /** Corrected as soon as it is known to be wrong. */
  readonly clock: Clock;
  close(): void;
}

/** Compares the clock of this machine with the database's every minute, logs a difference, and corrects `clock` for it. */
export function watchClock({ database, clock, metrics, log }: ClockWatchOptions): ClockWatch {
  let aheadMs = 0;
  let wrongByMs = 0;
  let closed = false;
  metrics.gauge(
    'clock_ahead_seconds',
    'How far the clock of this machine is ahead of the database’s; negative: behind it. Looked at every minute.',
    () => aheadMs / 1_000,
  );
  const outage = createOutageLog(
    log,
    'the clock of this machine and that of the database differ',
    'the clock of this machine and that of the database agree again',
  );

  async function look(): Promise<void> {
    try {
      const found = await compareClock(database, clock);
      if (closed) return;
      aheadMs = found.aheadMs;
      wrongByMs = found.surelyMs > MOST_MS ? aheadMs : 0;
      if (wrongByMs === 0) return outage.over();
      outage.failed({
        aheadSeconds: aheadMs / 1_000,
        check: 'set both by a time service (NTP); this instance allows for the difference until then',
      });
    } catch (error) {
      if (!closed)
        log[isOutage(error) ? 'debug' : 'warn']({ err: error }, 'could not read the clock of the database');
    }
  }

  const timer = setInterval(look, INTERVAL_MS).unref();
  void look();
  return {
    clock: { ...clock, now: () => clock.now() - wrongByMs },
    close() {
      closed = true;
      clearInterval(timer);
    },
  };
}
