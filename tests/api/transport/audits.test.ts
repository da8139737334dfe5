import { createServer } from 'node:http';
import { useAPQ } from '@graphql-yoga/plugin-apq';
import { useCSRFPrevention } from '@graphql-yoga/plugin-csrf-prevention';
import { useCookies } from '@whatwg-node/server-plugin-cookies';
import { serverAudits } from 'graphql-http';
import { beforeAll, describe, expect, it } from 'vitest';
import { createYogaOf } from '../../../examples/yoga.ts';
import { useAccount, useApp } from '../../support/app.ts';
import { READING } from '../../support/reading-plugin.ts';
import { NO_FAST_PATH, useListener, useSocket } from '../../support/socket.ts';

const auditsOf = (url: () => string, headers: () => Readonly<Record<string, string>>) =>
  serverAudits({
    url,
    fetchFn: (address: string, init: RequestInit = {}) =>
      fetch(address, { ...init, headers: { ...init.headers, ...headers() } }),
  });

describe('GraphQL over HTTP: the audits of graphql-http through examples/yoga.ts', () => {
  const app = useApp();
  const listener = useListener(() => createServer(createYogaOf(app.app)));
  const caller = useAccount(app);

  const audits = auditsOf(
    () => `${listener.origin}/graphql`,
    () => ({ authorization: `Bearer ${caller.key}` }),
  );

  it.each(audits)('$id $name', async ({ fn }) => {
    expect(await fn()).toMatchObject({ status: 'ok' });
  });
});

describe.each([
  { way: 'the fast path', headers: {}, fast: 61, options: {} },
  {
    way: 'the fast path with an origin',
    headers: { origin: 'https://elsewhere.example' },
    fast: 61,
    options: {},
  },
  { way: 'Yoga', headers: {}, fast: 0, options: { fastPath: NO_FAST_PATH } },
  {
    way: 'plugins of Yoga',
    headers: { 'x-graphql-yoga-csrf': '1' },
    fast: 0,
    options: {},
    yogaPlugins: [useCookies<object>(), useCSRFPrevention(), useAPQ()],
  },
  {
    way: 'a plugin of Yoga with all hooks of execution',
    headers: {},
    fast: 0,
    options: {},
    yogaPlugins: [READING],
  },
])(
  'GraphQL over HTTP: the audits of graphql-http through $way',
  ({ headers, fast, options, yogaPlugins = [] }) => {
    const app = useApp({ settings: { NODE_ENV: 'development' }, yogaPlugins });
    const socket = useSocket(app, options);
    let key = '';
    beforeAll(async () => {
      ({ key } = await app.account());
    });

    const audits = auditsOf(
      () => `${socket.origin}/graphql`,
      () => ({ ...headers, authorization: `Bearer ${key}` }),
    );

    it('are all there', () => {
      expect(audits).toHaveLength(61);
    });

    it.each(audits)('$id $name', async ({ fn }) => {
      expect(await fn()).toMatchObject({ status: 'ok' });
    });

    it('have come this way', () => {
      if (fast === 0) expect(socket.fastResponses).toBe(0);
      else expect(socket.fastResponses).toBeGreaterThanOrEqual(fast);
    });
  },
);
