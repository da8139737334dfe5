import { serverAudits } from 'graphql-http';
import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { useSocket } from '../../support/socket.ts';
import { UNTHROTTLED } from '../../support/unthrottled.ts';

describe.each([
  { way: 'the fast path', headers: {}, fast: 61 },
  { way: 'Yoga', headers: { origin: 'https://elsewhere.example' }, fast: 0 },
])('GraphQL over HTTP: the audits of graphql-http through $way', ({ headers, fast }) => {
  const app = useApp({ settings: { NODE_ENV: 'development', ...UNTHROTTLED } });
  const socket = useSocket(app);
  let key = '';
  beforeAll(async () => {
    ({ key } = await app.account());
  });

  const audits = serverAudits({
    url: () => `${socket.origin}/graphql`,
    fetchFn: (url: string, init: RequestInit = {}) =>
      fetch(url, { ...init, headers: { ...init.headers, ...headers, authorization: `Bearer ${key}` } }),
  });

  it('are all there', () => {
    expect(audits).toHaveLength(61);
  });

  it.each(audits)('$id $name', async ({ fn }) => {
    expect(await fn()).toMatchObject({ status: 'ok' });
  });

  it('have come this way', () => {
    if (fast === 0) expect(socket.fastAnswers).toBe(0);
    else expect(socket.fastAnswers).toBeGreaterThanOrEqual(fast);
  });
});
