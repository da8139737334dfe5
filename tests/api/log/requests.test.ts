import { expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { linesOf } from '../../support/log-lines.ts';

const app = useApp();

it('The line of a request has 200 characters of its path, and nothing of its query string', async () => {
  const path = `/${'path/'.repeat(60)}`;
  const response = await app.fetch(`${path}?secret=1`);
  await response.text();
  const requestId = response.headers.get('x-request-id');
  const [line] = linesOf(app.logged, 'request').filter((logged) => logged.requestId === requestId);
  expect(line).toMatchObject({ method: 'GET', path: path.slice(0, 200), status: 404 });
  expect(JSON.stringify(line)).not.toContain('secret');
});
