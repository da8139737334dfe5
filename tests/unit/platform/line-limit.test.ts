import { expect, it } from 'vitest';
import { createLogger } from '../../../src/platform/log/log.ts';
import { createLineLimit } from '../../../src/platform/log/log-limits.ts';
import { linesOf } from '../../support/log-lines.ts';

it('what a line says is not worked out for lines that are left out', () => {
  const logged: string[] = [];
  const destination = { write: (line: string) => void logged.push(line) };
  const lines = createLineLimit({
    log: createLogger({ level: 'info', pretty: false, destination }),
    maximum: 2,
    what: 'test',
  });
  let workedOut = 0;
  const fields = () => {
    workedOut += 1;
    return { workedOut };
  };
  for (let count = 0; count < 5; count += 1) lines.warn(fields, 'line');
  lines.close();
  expect(linesOf(logged, 'line').map((line) => line.workedOut)).toEqual([1, 2]);
  expect(workedOut).toBe(2);
  expect(linesOf(logged, 'lines left out: too many in a minute')).toMatchObject([{ omitted: 3 }]);
});
