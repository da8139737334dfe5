import { webcrypto } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { mutate, retryingFetch, TaskKey } from '../../../examples/retry.ts';
import { createApiKey } from '../../../src/auth/api-keys.ts';
import { useApp } from '../../support/app.ts';
import { CREATE_POST, postsNamed } from '../../support/keyed.ts';

/** What becomes of one request on its way. */
type Mishap =
  | 'arrives'
  | 'never arrives'
  | 'answer is lost'
  | 'answer breaks off'
  | 'proxy is busy'
  | 'proxy is refused'
  | 'page of a network'
  | 'request is slow';

/** Responses of something between client and service, which has not passed the request on. */
const OTHERS: Partial<Record<Mishap, { status: number; headers: Record<string, string>; body: string }>> = {
  'proxy is busy': { status: 503, headers: { 'retry-after': '0' }, body: 'busy' },
  'proxy is refused': {
    status: 403,
    headers: { 'content-type': 'application/json' },
    body: '{"errors":[{"message":"Forbidden"}]}',
  },
  'page of a network': {
    status: 200,
    headers: { 'content-type': 'text/html' },
    body: '<p>Sign in to this network.</p>',
  },
  'request is slow': { status: 408, headers: {}, body: '' },
};

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

describe('examples/retry.ts', () => {
  const app = useApp();

  /** A network between the client and the service on which one thing after the other goes wrong. */
  async function unreliable(...mishaps: Mishap[]) {
    const seen: Mishap[] = [];
    const result = async (request: IncomingMessage, response: ServerResponse) => {
      const mishap = mishaps.shift() ?? 'arrives';
      seen.push(mishap);
      const body = await bodyOf(request);
      if (mishap === 'never arrives') return void request.socket.destroy();
      const other = OTHERS[mishap];
      if (other !== undefined) return void response.writeHead(other.status, other.headers).end(other.body);
      const headers = new Headers(request.headers as Record<string, string>);
      const { status, headers: responded, text } = await forward(headers, body);
      if (mishap === 'answer is lost') return void request.socket.destroy();
      response.writeHead(status, { ...responded, 'content-length': Buffer.byteLength(text) });
      if (mishap === 'arrives') return void response.end(text);
      response.write(text.slice(0, 10), () => request.socket.destroy());
    };
    const forward = async (headers: Headers, body: Buffer) => {
      const response = await app.fetch('/graphql', { method: 'POST', headers, body: body.toString() });
      const { status } = response;
      return { status, headers: Object.fromEntries(response.headers), text: await response.text() };
    };
    const server = createServer((request, response) => void result(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    return { seen, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/graphql` };
  }

  it.each<{ mishaps: Mishap[]; replayed: boolean }>([
    { mishaps: ['arrives'], replayed: false },
    { mishaps: ['never arrives', 'proxy is busy', 'arrives'], replayed: false },
    { mishaps: ['answer is lost', 'arrives'], replayed: true },
    { mishaps: ['answer breaks off', 'never arrives', 'answer is lost', 'arrives'], replayed: true },
    { mishaps: ['answer is lost', 'request is slow', 'arrives'], replayed: true },
  ])('has it done once when a request %j', async ({ mishaps, replayed }) => {
    const { key, id } = await app.account();
    const { url, seen } = await unreliable(...mishaps);
    const title = `retried ${id}`;
    const headers = { authorization: `Bearer ${key}` };
    const result = await mutate(url, { query: CREATE_POST, variables: { title } }, { headers, pauseMs: 1 });
    expect(result).toMatchObject({ status: 200, replayed, body: { data: { createPost: { title } } } });
    expect(seen).toEqual(mishaps);
    expect(await postsNamed(app, title)).toBe(1);
  });

  it('does not repeat what would be rejected again', async () => {
    const { id, key } = await app.account();
    const lesser = await createApiKey(app.database, { userId: id, name: 'lesser', scopes: ['posts:read'] });
    const { url, seen } = await unreliable();
    const headers = { authorization: `Bearer ${key}` };
    const forbidden = await mutate(
      url,
      { query: CREATE_POST, variables: { title: 'refused' } },
      { headers: { authorization: `Bearer ${lesser.key}` }, idempotencyKey: 'k' },
    );
    expect(forbidden).toMatchObject({ status: 403, replayed: false });
    const first = { query: CREATE_POST, variables: { title: 'first' } };
    expect(await mutate(url, first, { headers, idempotencyKey: 'k' })).toMatchObject({ status: 200 });
    const other = { query: CREATE_POST, variables: { title: 'other' } };
    const reused = await mutate(url, other, { headers, idempotencyKey: 'k' });
    expect(reused.status).toBe(422);
    expect(seen).toHaveLength(3);
  });

  describe('the key of a form', () => {
    /** Presses the button: once for each mishap, with one attempt at a time. */
    async function form(key: string, ...mishaps: Mishap[]) {
      const { url } = await unreliable(...mishaps);
      const idempotencyKey = new TaskKey();
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      return async (title: string) => {
        const body = JSON.stringify({ query: CREATE_POST, variables: { title } });
        const send = retryingFetch({ idempotencyKey, attempts: 1 });
        const response = await send(url, { method: 'POST', headers, body }).catch(() => undefined);
        return response?.headers.get('idempotency-replayed') === 'true';
      };
    }

    it.each<Mishap>([
      'request is slow',
      'page of a network',
      'proxy is refused',
      'proxy is busy',
      'never arrives',
    ])('stays the same while the outcome is unknown: the response is lost, then "%s"', async (next) => {
      const { key, id } = await app.account();
      const press = await form(key, 'answer is lost', next);
      const title = `pressed ${id}`;
      expect(await press(title)).toBe(false);
      expect(await press(title)).toBe(false);
      expect(await press(title)).toBe(true);
      expect(await postsNamed(app, title)).toBe(1);
    });

    it('stays the same while the credentials are rejected', async () => {
      const { key, id } = await app.account();
      const lesser = await createApiKey(app.database, { userId: id, name: 'lesser', scopes: ['posts:read'] });
      const { url } = await unreliable('answer is lost');
      const title = `pressed ${id}`;
      const options = { idempotencyKey: new TaskKey(), attempts: 1 };
      const press = (as: string) =>
        mutate(
          url,
          { query: CREATE_POST, variables: { title } },
          { ...options, headers: { authorization: `Bearer ${as}` } },
        );
      await expect(press(key)).rejects.toThrow();
      expect(await press('nobody')).toMatchObject({ status: 401 });
      expect(await press(lesser.key)).toMatchObject({ status: 403 });
      expect(await press(key)).toMatchObject({ status: 200, replayed: true });
      expect(await postsNamed(app, title)).toBe(1);
    });

    it('is another one after a response with data, null included, and for another text', async () => {
      const { key, id } = await app.account();
      const press = await form(key, 'arrives', 'arrives', 'arrives', 'arrives', 'answer is lost');
      const title = `pressed ${id}`;
      for (const text of [title, title, '', '', title, `${title} again`])
        expect(await press(text)).toBe(false);
      expect(await postsNamed(app, title)).toBe(3);
      expect(await postsNamed(app, `${title} again`)).toBe(1);
    });
  });

  it('works where a page has no secure context', async () => {
    const { key, id } = await app.account();
    const { url } = await unreliable('answer is lost');
    // What browsers have on http://192.168.0.7 (Web Cryptography, section 10).
    vi.stubGlobal('crypto', {
      getRandomValues: (bytes: Uint8Array<ArrayBuffer>) => webcrypto.getRandomValues(bytes),
    });
    onTestFinished(() => void vi.unstubAllGlobals());
    const title = `insecure ${id}`;
    const headers = { authorization: `Bearer ${key}` };
    const result = await mutate(url, { query: CREATE_POST, variables: { title } }, { headers, pauseMs: 1 });
    expect(result).toMatchObject({ status: 200, replayed: true });
  });

  it('gives up in the end, and the same key finds out later', async () => {
    const { key, id } = await app.account();
    const { url } = await unreliable('answer is lost', 'never arrives');
    const title = `found out ${id}`;
    const options = { headers: { authorization: `Bearer ${key}` }, idempotencyKey: 'task 1', pauseMs: 1 };
    const mutation = { query: CREATE_POST, variables: { title } };
    await expect(mutate(url, mutation, { ...options, attempts: 2 })).rejects.toThrow('task 1');
    expect(await mutate(url, mutation, options)).toMatchObject({ status: 200, replayed: true });
    expect(await postsNamed(app, title)).toBe(1);
  });
});
