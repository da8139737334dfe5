import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { newId } from '../../../src/platform/ids.ts';
import { useApp } from '../../support/app.ts';
import { PASSWORD, visitor } from '../../support/credentials/session.ts';
import { readMetric } from '../../support/metrics.ts';
import { NO_FAST_PATH, type Socket, useSocket } from '../../support/socket.ts';

const BODY = 'b'.repeat(49_000);
/** Past what the buffers of the kernel take at both ends of a connection on this machine. */
const POSTS = 600;

const app = useApp();

/** Somebody with so much that nobody reads it at once. */
async function author() {
  const person = await visitor(app);
  for (let made = 0; made < POSTS; made += 100)
    await app.prisma.post.createMany({
      data: Array.from({ length: 100 }, (_, index) => {
        return { id: newId(), authorId: person.id, title: `${made + index}`, body: BODY };
      }),
    });
  return person;
}

/** Asks for the file of an account, of which nothing is read yet. */
async function download(socket: Socket, cookie: string): Promise<IncomingMessage> {
  const headers = { cookie, 'content-type': 'application/x-www-form-urlencoded' };
  const asked = request(`${socket.origin}/account`, { method: 'POST', headers, agent: false });
  asked.end(String(new URLSearchParams({ do: 'download', currentPassword: PASSWORD })));
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  expect(response.statusCode).toBe(200);
  return response;
}

async function read(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part);
  return Buffer.concat(parts).toString();
}

describe('The file of an account with very much', () => {
  const socket = useSocket(app);
  const throughYoga = useSocket(app, { fastPath: NO_FAST_PATH });
  const impatient = useSocket(app, { drainLimitMs: 300 });

  it.each([
    ['on the fast path', () => socket],
    ['through Yoga', () => throughYoga],
  ])('is whole %s, however slowly it is read', async (_way, at) => {
    const { cookie, email } = await author();
    const response = await download(at(), cookie);
    expect(response.headers['content-length']).toBeUndefined();
    const data = JSON.parse(await read(response));
    expect(data.account.email).toBe(email);
    expect(data.posts).toHaveLength(POSTS);
  });

  it('ends, and with it what makes it, where its reader has stopped', async () => {
    const { cookie } = await author();
    const response = await download(impatient, cookie);
    await once(response, 'readable');
    await expect.poll(() => impatient.connections()).toBe(0);
    await expect(read(response)).rejects.toThrow('aborted');
  });

  it('is one at a time for an account, and the next one comes when it is over', async () => {
    const { cookie } = await author();
    const first = await download(socket, cookie);
    await once(first, 'readable');
    const send = () =>
      socket.fetch('/account', {
        method: 'POST',
        headers: { cookie, 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ do: 'download', currentPassword: PASSWORD }),
      });
    const rejected = await send();
    expect([rejected.status, rejected.headers.get('retry-after')]).toEqual([429, '10']);
    expect(await rejected.text()).toContain('Another download of your data is running.');
    first.destroy();
    await expect.poll(async () => (await send()).status, { interval: 200 }).toBe(200);
  });

  it('holds nothing for those who leave before its end', async () => {
    const { id, cookie } = await author();
    const keys = Array.from({ length: 90 }, (_, at) => {
      const name = '\u{1F600}'.repeat(100);
      return {
        id: newId(),
        userId: id,
        name,
        prefix: `cga_${at}`,
        scopes: ['posts:read'],
        hash: Buffer.from(newId()),
      };
    });
    await app.prisma.apiKey.createMany({ data: keys });
    const response = await download(socket, cookie);
    response.destroy();
    await expect.poll(() => readMetric(app, 'content_graph_response_pending_bytes')).toBe(0);
  });

  it('breaks off where the session has ended meanwhile', async () => {
    const { cookie } = await author();
    const response = await download(socket, cookie);
    await once(response, 'readable');
    const headers = { cookie, origin: 'http://127.0.0.1:4000' };
    expect((await app.fetch('/logout', { method: 'POST', headers })).status).toBe(204);
    await expect(read(response)).rejects.toThrow('aborted');
  });

  it('breaks off where the account has gone meanwhile, so that nobody takes it for whole, and the log says so', async () => {
    const { id, cookie } = await author();
    const response = await download(socket, cookie);
    await once(response, 'readable');
    await app.prisma.user.update({ where: { id }, data: { emailKey: null }, select: { id: true } });
    await expect(read(response)).rejects.toThrow('aborted');
    await expect
      .poll(() => app.logged.some((line) => line.includes('account.export_interrupted')))
      .toBe(true);
  });
});
