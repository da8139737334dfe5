import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createResumingFetch, resumingFetch, type StreamState } from '../../../examples/resuming-fetch.ts';
import { useApp } from '../../support/app.ts';
import { openEventStream } from '../../support/streams/event-stream.ts';
import { holdTimersInTest } from '../../support/time/timers.ts';

/** What becomes of one connection: after so many bytes it is broken, ended or silent, or there is no stream at all. */
type Mishap =
  | { readonly kind: 'broken' | 'ended' | 'silent'; readonly afterBytes: number }
  | { readonly kind: 'refused'; readonly status: number }
  | { readonly kind: 'closed at once' | 'never answered' | 'page of a network' };

/** Longer than the opening block, with which a client has a position. */
const OPENED_BYTES = 100;
const MAX_SILENCE_MS = 40_000;
const TITLES = ['one', 'zwei – ½', 'três', '四', 'пять', 'six 🐙'];

const cut = fc.record({
  kind: fc.constantFrom('broken' as const, 'ended' as const),
  afterBytes: fc.nat(900),
});
const refusal = fc.record({
  kind: fc.constant('refused' as const),
  status: fc.constantFrom(408, 429, 500, 503, 504),
});
const failure = fc.record({ kind: fc.constantFrom('closed at once' as const, 'page of a network' as const) });
const mishaps = fc.array(fc.oneof(cut, cut, refusal, failure), { minLength: 1, maxLength: 4 });

describe('examples/resuming-fetch.ts', () => {
  const app = useApp();

  /** A network between the client and the service on which one thing after the other goes wrong. */
  async function unreliable(given: readonly Mishap[]) {
    const left = [...given];
    const seen = { connections: 0 };
    const answer = async (request: IncomingMessage, response: ServerResponse) => {
      seen.connections += 1;
      const mishap = left.shift();
      if (mishap?.kind === 'refused')
        return void response.writeHead(mishap.status, { 'retry-after': '0' }).end();
      if (mishap?.kind === 'page of a network')
        return void response
          .writeHead(200, { 'content-type': 'text/html' })
          .end('<p>Sign in to this network.</p>');
      if (mishap?.kind === 'closed at once') return void request.socket.destroy();
      if (mishap?.kind === 'never answered') return;
      const gone = new AbortController();
      response.once('close', () => gone.abort());
      const headers = new Headers(request.headers as Record<string, string>);
      const answered = await app.fetch(request.url ?? '', { headers, signal: gone.signal });
      response.writeHead(answered.status, { 'content-type': answered.headers.get('content-type') ?? '' });
      let bytesLeft =
        mishap !== undefined && 'afterBytes' in mishap ? mishap.afterBytes : Number.POSITIVE_INFINITY;
      const reader = answered.body?.getReader();
      response.once('close', () => void reader?.cancel());
      for (;;) {
        const chunk = await reader?.read();
        if (chunk?.value === undefined) return void response.end();
        const passed = chunk.value.subarray(0, bytesLeft);
        bytesLeft -= passed.length;
        await new Promise((resolve) => response.write(passed, resolve));
        if (bytesLeft > 0) continue;
        if (mishap?.kind === 'broken') request.socket.destroy();
        if (mishap?.kind === 'ended') response.end();
        return;
      }
    };
    const server = createServer((request, response) => void answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const close = async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    };
    return { seen, close, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  }

  /** Opens a stream of new posts across such a network. */
  async function open(given: readonly Mishap[], key: string, signal?: AbortSignal) {
    const network = await unreliable(given);
    const states: StreamState[] = [];
    const query = encodeURIComponent('subscription { postCreated { title } }');
    const response = await createResumingFetch({ onState: (state) => void states.push(state) })(
      `${network.url}/graphql?query=${query}`,
      {
        headers: { authorization: `Bearer ${key}`, accept: 'text/event-stream' },
        ...(signal === undefined ? {} : { signal }),
      },
    );
    return { ...network, states, response };
  }

  /** Follows the titles of new posts, from a position that it knows. */
  async function follow(given: readonly Mishap[], key: string, signal?: AbortSignal) {
    const opened = await open(given, key, signal);
    const stream = openEventStream(opened.response);
    expect((await stream.block())?.id).toBeDefined();
    return { ...opened, stream };
  }

  const createPost = async (title: string, key: string) => {
    const mutation = 'mutation ($title: String!) { createPost(title: $title, body: "b") { id } }';
    expect((await app.gql(mutation, { key, variables: { title } })).errors).toBeUndefined();
  };

  it('has each event once and in order, wherever connections are cut off', async () => {
    const property = fc.asyncProperty(fc.array(mishaps, { minLength: 8, maxLength: 8 }), async (networks) => {
      const { key } = await app.account();
      const followers = await Promise.all(
        networks.map(async (given) => follow(given, (await app.account()).key)),
      );
      for (const title of TITLES) await createPost(title, key);
      for (const { stream, close } of followers) {
        const events = [];
        for (const _ of TITLES) events.push(await stream.event());
        expect(events.map((event) => JSON.parse(event?.data ?? '').data.postCreated.title)).toEqual(TITLES);
        expect(new Set(events.map((event) => event?.id)).size).toBe(TITLES.length);
        await stream.close();
        await close();
      }
    });
    await fc.assert(property, { numRuns: 3 });
  });

  it.each<Mishap>([
    { kind: 'closed at once' },
    { kind: 'refused', status: 408 },
    { kind: 'refused', status: 429 },
    { kind: 'refused', status: 503 },
    { kind: 'page of a network' },
  ])('tries the first connection again, and tells why: %j', async (mishap) => {
    const { key } = await app.account();
    const { stream, states, seen, close } = await follow([mishap, mishap], key);
    onTestFinished(close);
    await createPost('after the first connection', key);
    expect((await stream.event())?.data).toContain('after the first connection');
    expect(seen.connections).toBe(3);
    const cause =
      mishap.kind === 'closed at once'
        ? { error: expect.any(Error) }
        : { httpStatus: mishap.kind === 'refused' ? mishap.status : 200 };
    const pause = (attempt: number) => ({
      status: 'reconnecting',
      attempt,
      waitMs: expect.any(Number),
      ...cause,
    });
    expect(states).toEqual([{ status: 'connecting' }, pause(1), pause(2), { status: 'live' }]);
    await stream.close();
    await expect.poll(() => states.at(-1)).toEqual({ status: 'closed' });
  });

  it('takes a first connection without a response for a dead one', async () => {
    const { key } = await app.account();
    const timers = holdTimersInTest(MAX_SILENCE_MS);
    const following = follow([{ kind: 'never answered' }], key);
    await expect.poll(() => timers.count(MAX_SILENCE_MS)).toBe(1);
    timers.fire(MAX_SILENCE_MS);
    const { stream, seen, close } = await following;
    onTestFinished(close);
    expect(seen.connections).toBe(2);
    await stream.close();
  });

  it('takes a silent connection for a dead one', async () => {
    const { key } = await app.account();
    const timers = holdTimersInTest(MAX_SILENCE_MS);
    const { stream, seen, close } = await follow([{ kind: 'silent', afterBytes: OPENED_BYTES }], key);
    onTestFinished(close);
    await app.gql('mutation { createPost(title: "unheard", body: "b") { id } }', { key });
    const event = stream.event();
    expect(seen.connections).toBe(1);
    timers.fire(MAX_SILENCE_MS);
    expect((await event)?.data).toContain('unheard');
    expect(seen.connections).toBe(2);
    await stream.close();
  });

  it('ends with the service’s word, and where the service refuses to go on', async () => {
    const { key } = await app.account();
    const refused = await follow(
      [
        { kind: 'broken', afterBytes: OPENED_BYTES },
        { kind: 'refused', status: 401 },
      ],
      key,
    );
    onTestFinished(refused.close);
    await app.gql('mutation { createPost(title: "cut off in this event", body: "b") { id } }', { key });
    await expect(refused.stream.event()).rejects.toThrow('refused with status 401');
    expect(refused.seen.connections).toBe(2);
    expect(refused.states.at(-1)).toEqual({ status: 'closed', httpStatus: 401 });

    const url = `/graphql?lastEventId=nonsense&query=${encodeURIComponent('subscription { postCreated { title } }')}`;
    const { url: origin, seen, close } = await unreliable([]);
    onTestFinished(close);
    const unresumable = openEventStream(
      await resumingFetch(origin + url, {
        headers: { authorization: `Bearer ${key}`, accept: 'text/event-stream' },
      }),
    );
    expect((await unresumable.event())?.data).toContain('BAD_USER_INPUT');
    expect(await unresumable.event()).toMatchObject({ event: 'complete' });
    expect(await unresumable.block()).toBeUndefined();
    expect(seen.connections).toBe(1);
  });

  it('stops when its reader leaves, while it waits to connect again as well', async () => {
    const { key } = await app.account();
    const leaving = new AbortController();
    const { stream, seen, close } = await follow(
      [
        { kind: 'broken', afterBytes: OPENED_BYTES },
        ...Array.from({ length: 50 }, () => ({ kind: 'refused', status: 503 }) as const),
      ],
      key,
      leaving.signal,
    );
    onTestFinished(close);
    const event = stream.event();
    await app.gql('mutation { createPost(title: "cut off in this event", body: "b") { id } }', { key });
    await expect.poll(() => seen.connections).toBeGreaterThanOrEqual(2);
    leaving.abort();
    await expect(event).rejects.toThrow('abort');
  });

  it('passes other responses on', async () => {
    const { url, close } = await unreliable([]);
    onTestFinished(close);
    const response = await resumingFetch(`${url}/health/live`);
    expect(await response.json()).toMatchObject({ version: expect.any(String) });
    expect((await resumingFetch(`${url}/graphql`)).status).toBe(401);
  });

  it('sends once what does not ask for a stream alone', async () => {
    const headers = { accept: 'application/json, text/event-stream' };
    const { url, seen, close } = await unreliable([
      { kind: 'refused', status: 503 },
      { kind: 'closed at once' },
    ]);
    onTestFinished(close);
    expect((await resumingFetch(`${url}/graphql`, { headers })).status).toBe(503);
    await expect(resumingFetch(`${url}/graphql`, { headers })).rejects.toThrow('fetch failed');
    expect(seen.connections).toBe(2);
  });
});
