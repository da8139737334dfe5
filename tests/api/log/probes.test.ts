import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { DEBUG, INFO, linesOf } from '../../support/log-lines.ts';
import { NO_FAST_PATH, useSocket } from '../../support/socket.ts';

const METRICS_TOKEN = 'k3v9x2mq7t5w8y1z';
const FORWARDED = { 'x-forwarded-for': '203.0.113.7' };

describe.each([
  ['the fast path', {}],
  ['Yoga', { fastPath: NO_FAST_PATH }],
])('The line of a request by %s', (_path, options) => {
  const app = useApp({ settings: { METRICS_TOKEN, TRUST_PROXY: '127.0.0.1' } });
  const socket = useSocket(app, options);
  let requests = 0;

  async function levelOf(path: string, status: number, headers: Readonly<Record<string, string>> = {}) {
    requests += 1;
    const requestId = `probe ${requests}`;
    const response = await socket.fetch(path, { headers: { ...headers, 'x-request-id': requestId } });
    await response.body?.cancel();
    expect(response.status).toBe(status);
    const lines = linesOf(app.logged, 'http.request').filter((line) => line.requestId === requestId);
    expect(lines).toMatchObject([{ path, status }]);
    return lines[0]?.level;
  }

  it.each(['/health/live', '/health/ready', '/metrics'])(
    'to %s that succeeds has the level debug',
    async (path) => {
      expect(await levelOf(path, 200)).toBe(DEBUG);
    },
  );

  it('to /metrics from elsewhere has the level debug with the token, and info without', async () => {
    const authorization = `Bearer ${METRICS_TOKEN}`;
    expect(await levelOf('/metrics', 200, { ...FORWARDED, authorization })).toBe(DEBUG);
    expect(await levelOf('/metrics', 401, FORWARDED)).toBe(INFO);
  });

  it('to any other path has the level info', async () => {
    expect(await levelOf('/nowhere', 404)).toBe(INFO);
    expect(await levelOf('/graphql', 401)).toBe(INFO);
  });

  it('to /health/ready of an instance that stops has the level info', async () => {
    app.app.announceShutdown();
    await expect.poll(async () => (await socket.fetch('/health/ready')).status).toBe(503);
    expect(await levelOf('/health/ready', 503)).toBe(INFO);
    expect(await levelOf('/health/live', 200)).toBe(DEBUG);
  });
});
