import { expect, it } from 'vitest';
import { createLogger } from '../../../src/platform/log/log.ts';
import { createLogRateLimiter } from '../../../src/platform/log/log-limits.ts';
import { linesOf } from '../../support/log-lines.ts';

it('what a line says is not worked out for suppressed lines', () => {
  const logged: string[] = [];
  const destination = { write: (line: string) => void logged.push(line) };
  const lines = createLogRateLimiter({
    log: createLogger({ level: 'info', pretty: false, destination }),
    maximum: 2,
    event: 'http.connection_rejected',
  });
  let workedOut = 0;
  const fields = () => {
    workedOut += 1;
    return { workedOut };
  };
  for (let count = 0; count < 5; count += 1) lines.emit(fields);
  lines.close();
  expect(linesOf(logged, 'http.connection_rejected').map((line) => line.workedOut)).toEqual([1, 2]);
  expect(workedOut).toBe(2);
  expect(linesOf(logged, 'log.suppressed')).toMatchObject([
    { subject: 'http.connection_rejected', suppressedCount: 3 },
  ]);
});
