import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { useSocket } from '../../support/socket.ts';

const PIPELINED = 200;

describe('Requests that a client sends at once on one connection', () => {
  const app = useApp();
  const turns = { running: 0, most: 0 };
  const socket = useSocket(app, {
    fastPath: {
      isFastPathRequest: (...request) => app.app.fastPath.isFastPathRequest(...request),
      async handle(...request) {
        turns.running += 1;
        turns.most = Math.max(turns.most, turns.running);
        try {
          return await app.app.fastPath.handle(...request);
        } finally {
          turns.running -= 1;
        }
      },
    },
  });

  const head = (index: number, close = false) =>
    `GET /health/live HTTP/1.1\r\nHost: a\r\nX-Request-Id: id-${index}\r\n${close ? 'Connection: close\r\n' : ''}\r\n`;
  const ids = (text: string) => [...text.matchAll(/x-request-id: id-(\d+)/gi)].map(([, id]) => Number(id));
  const inOrder = Array.from({ length: PIPELINED }, (_, index) => index);

  it('are taken one after the other and answered in order, each once', async () => {
    const text = await socket.send(inOrder.map((index) => head(index, index === PIPELINED - 1)).join(''));
    expect(ids(text)).toEqual(inOrder);
    expect(turns.most).toBe(1);
  });

  it('may have bodies, and come in pieces', async () => {
    const { key } = await app.account();
    const body = JSON.stringify({ query: `{ __typename } #${'x'.repeat(40_000)}` });
    const post = (close: boolean) =>
      `POST /graphql HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nAuthorization: Bearer ${key}\r\n` +
      `Content-Length: ${body.length}\r\n${close ? 'Connection: close\r\n' : ''}\r\n${body}`;
    const all = `${post(false)}${head(1)}${post(false)}${head(2)}${post(true)}`;
    const parts = Array.from({ length: Math.ceil(all.length / 7_001) }, (_, index) =>
      all.slice(index * 7_001, (index + 1) * 7_001),
    );
    const text = await socket.send(...parts);
    expect([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(
      Array.from({ length: 5 }, () => '200'),
    );
    expect([...text.matchAll(/"__typename":"Query"/g)]).toHaveLength(3);
    expect(turns.most).toBe(1);
  });

  it.each(['websocket', 'h2c'])(
    'are answered, and the connection closed, where one asks for %s',
    async (protocol) => {
      const upgrade = `GET /health/live HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`;
      const text = await socket.send(`${head(1)}${upgrade}${head(2)}`);
      expect([...text.matchAll(/connection: (\S+)/gi)].map(([, value]) => value)).toEqual([
        'keep-alive',
        'close',
      ]);
    },
  );
});
