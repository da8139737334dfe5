import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createLogger } from '../../../src/platform/log/log.ts';
import { createOutageReporter } from '../../../src/platform/log/log-limits.ts';
import { INFO, linesOf, WARN } from '../../support/log-lines.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function outageLog() {
  const logged: string[] = [];
  const destination = { write: (line: string) => void logged.push(line) };
  const log = createLogger({ level: 'info', pretty: false, destination });
  return { logged, outage: createOutageReporter(log, 'redis.unavailable', 'redis.recovered') };
}

/** Reports a failed attempt every 100 ms. */
function failFor(outage: ReturnType<typeof createOutageReporter>, seconds: number): void {
  for (let attempt = 0; attempt < 10 * seconds; attempt += 1) {
    outage.failed({ reason: 'refused' });
    vi.advanceTimersByTime(100);
  }
}

it('An outage is logged when it begins, again after 5 s, then ever more rarely, and in the end once a minute', () => {
  const { logged, outage } = outageLog();
  failFor(outage, 300);
  const lines = linesOf(logged, 'redis.unavailable');
  expect(lines.map(({ durationSeconds }) => durationSeconds)).toEqual([
    undefined,
    5,
    15,
    35,
    75,
    135,
    195,
    255,
  ]);
  for (const line of lines) expect(line).toMatchObject({ level: WARN, reason: 'refused' });
});

it('The end of an outage is logged once, and the reminders of the next outage start after 5 s again', () => {
  const { logged, outage } = outageLog();
  outage.over();
  failFor(outage, 40);
  outage.over();
  outage.over();
  expect(linesOf(logged, 'redis.recovered')).toMatchObject([{ level: INFO, durationSeconds: 40 }]);
  failFor(outage, 6);
  const lines = linesOf(logged, 'redis.unavailable').map(({ durationSeconds }) => durationSeconds);
  expect(lines).toEqual([undefined, 5, 15, 35, undefined, 5]);
});
