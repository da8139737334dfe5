import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { linesOf } from '../../support/log-lines.ts';

const app = useApp();

it('The line of a request has 200 characters of its path, and nothing of its query string', async () => {
  const path = `/${'path/'.repeat(60)}`;
  const response = await app.fetch(`${path}?secret=1`);
  await response.text();
  const requestId = response.headers.get('x-request-id');
  const [line] = linesOf(app.logged, 'http.request').filter((logged) => logged.requestId === requestId);
  expect(line).toMatchObject({ method: 'GET', path: path.slice(0, 200), status: 404 });
  expect(JSON.stringify(line)).not.toContain('secret');
});

describe('while somebody sets the clock back', () => {
  let nowMs = Date.now();
  const now = () => {
    nowMs -= 3_600_000;
    return nowMs;
  };
  const back = useApp({ clock: { now, elapsedMs: () => performance.now() } });

  it('the line of a request has the time that has passed', async () => {
    await (await back.fetch('/graphql?query={__typename}')).text();
    const [line] = linesOf(back.logged, 'http.request');
    expect(line?.durationMs).toSatisfy((ms: number) => Number.isInteger(ms) && ms >= 0 && ms < 60_000);
  });
});
