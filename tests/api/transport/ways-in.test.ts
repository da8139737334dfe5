import { once } from 'node:events';
import { connect } from 'node:net';
import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { readMetric } from '../../support/metrics.ts';
import { type AskedOnWire, REQUESTS } from '../../support/request-table.ts';
import { useHostedInstance } from '../../support/second-instance.ts';
import { NO_FAST_PATH, useSocket } from '../../support/socket.ts';
import { ACCEPT_MULTIPART } from '../../support/streams/multipart-stream.ts';
import { issueToken } from '../../support/streams/stream-token.ts';
import { published } from '../../support/trusted-documents.ts';

interface Responded {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** What differs from one response to the next, whichever way they come. */
const VARYING = new Set([
  'date',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'ratelimit',
  'x-request-id',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'set-cookie',
]);
/** The position at which a stream begins depends on the transactions that are open at that time. */
const POSITION = /^id: AQ[\w-]+$/gm;
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** A response without what is of its own moment. */
function comparable({ status, headers, body }: Responded, ownId: boolean) {
  const kept = [...headers].filter(([name]) => !VARYING.has(name) || (ownId && name === 'x-request-id'));
  return {
    status,
    headers: Object.fromEntries(kept.sort()),
    cookies: headers.has('set-cookie'),
    counted: headers.has('x-ratelimit-remaining'),
    body: body
      .replaceAll(POSITION, 'id: <position>')
      .replaceAll(UUID, '<id>')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>'),
  };
}

describe.each([
  { what: 'of the embedded database', settings: {} },
  {
    what: 'in development with CORS',
    settings: { NODE_ENV: 'development', CORS_ORIGINS: 'https://app.example.com' },
  },
])('every request is answered alike by every way in, $what', ({ settings }) => {
  const app = useApp({ settings });
  const socket = useSocket(app);
  const slow = useSocket(app, { fastPath: NO_FAST_PATH });
  const hosted = useHostedInstance(app);
  const hostedSocket = useSocket(hosted);
  const filling: Record<string, string> = {};
  let key = '';
  beforeAll(async () => {
    ({ key } = await app.account({ scopes: ['posts:read', 'posts:write', 'users:read'] }));
    const { data } = await app.gql('mutation { createPost(title: "t", body: "b", tags: ["x"]) { id } }', {
      key,
    });
    const token = await issueToken(app, { authorization: `Bearer ${key}` });
    const document = await published(app, '{ posts(limit: 1) { id title } }');
    Object.assign(filling, { KEY: key, POST: data.createPost.id, TOKEN: token, DOCUMENT: document });
  });

  const filled = (text: string, way: string) =>
    text.replaceAll('$WAY', way).replaceAll(/\$([A-Z]+)/g, (all, name: string) => filling[name] ?? all);

  async function overSocket(
    way: string,
    origin: string,
    { method = 'GET', target = '/graphql', headers = [], body }: AskedOnWire,
  ) {
    const bytes = body === undefined ? undefined : Buffer.from(filled(body, way));
    const length = bytes === undefined ? [] : [`content-length: ${bytes.length}`];
    const head = [
      `${method} ${filled(target, way)} HTTP/1.1`,
      'host: 127.0.0.1:4000',
      'connection: close',
      ...headers.map((field) => filled(field, way)),
      ...length,
    ];
    const connection = connect(Number(new URL(origin).port), '127.0.0.1');
    const chunks: Buffer[] = [];
    connection.on('data', (chunk: Buffer) => chunks.push(chunk));
    // What has come by then is the response, also where the service has closed on bytes that it did not read.
    connection.on('error', () => undefined);
    const closed = once(connection, 'close');
    connection.write(Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'));
    if (bytes !== undefined) connection.write(bytes);
    await closed;
    return parse(Buffer.concat(chunks).toString('utf8'));
  }

  function parse(text: string): Responded {
    const end = text.indexOf('\r\n\r\n');
    const [first = '', ...fields] = text.slice(0, end).split('\r\n');
    const headers = new Map(
      fields.map((field) => {
        const [name = '', ...value] = field.split(': ');
        return [name.toLowerCase(), value.join(': ')];
      }),
    );
    headers.delete('connection');
    const rest = text.slice(end + 4);
    const body =
      headers.get('transfer-encoding') === 'chunked'
        ? rest.replaceAll(/(^|\r\n)[\da-f]+\r\n/g, '').trimEnd()
        : rest.trimEnd();
    return { status: Number(first.split(' ')[1]), headers, body };
  }

  async function inProcess({
    method = 'GET',
    target = '/graphql',
    headers = [],
    body,
  }: AskedOnWire): Promise<Responded> {
    const fields = headers.map((field): [string, string] => {
      const [name = '', ...value] = filled(field, 'in process').split(': ');
      return [name, value.join(': ')];
    });
    const response = await app.fetch(filled(target, 'in process'), {
      method,
      headers: fields,
      ...(body === undefined ? {} : { body: filled(body, 'in process') }),
    });
    return {
      status: response.status,
      headers: new Map(response.headers),
      body: (await response.text()).trimEnd(),
    };
  }

  const twice = async (asked: AskedOnWire, send: (asked: AskedOnWire) => Promise<Responded>) => {
    const result = await send(asked);
    return asked.twice ? send(asked) : result;
  };

  it.each(REQUESTS)('$name', async (asked) => {
    const ownId = asked.headers?.includes('x-request-id: mine') === true;
    const ask = async (way: string, { origin }: { readonly origin: string }) =>
      comparable(await twice(asked, (one) => overSocket(way, origin, one)), ownId);
    const fast = await ask('fast', socket);
    expect(await ask('slow', slow)).toEqual(fast);
    expect(await ask('hosted', hostedSocket)).toEqual(fast);
    expect(comparable(await twice(asked, inProcess), ownId)).toEqual(fast);
  });

  it.each(['text/event-stream', ACCEPT_MULTIPART])('events after an id as %s', async (accept) => {
    const create = 'mutation { createPost(title: "told", body: "b") { id } }';
    const start = await app.gql('{ posts(limit: 1) { id } }', { key, headers: { 'x-show-event-id': '1' } });
    for (const _ of [1, 2]) await app.gql(create, { key });
    const last: string = (await app.gql(create, { key })).data.createPost.id;
    const query = 'subscription { postCreated { id title author { name } } }';
    const parameters = new URLSearchParams({ query, lastEventId: String(start.extensions?.eventId) });
    const headers = { accept, authorization: `Bearer ${key}` };
    const read = async (response: Response) => {
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      let text = '';
      // Up to the line with the last event.
      const end = () => (text.includes(last) ? text.indexOf('\n', text.indexOf(last)) : -1);
      while (reader !== undefined && end() === -1) text += (await reader.read()).value ?? '';
      const body = text.slice(0, end());
      await reader?.cancel();
      return comparable({ status: response.status, headers: new Map(response.headers), body }, false);
    };
    const fast = await read(await fetch(`${socket.origin}/graphql?${parameters}`, { headers }));
    expect(fast.body.match(/"told"/g)).toHaveLength(3);
    for (const { origin } of [slow, hostedSocket])
      expect(await read(await fetch(`${origin}/graphql?${parameters}`, { headers }))).toEqual(fast);
    expect(await read(await app.fetch(`/graphql?${parameters}`, { headers }))).toEqual(fast);
  });

  it('a subscription ends with its client, whichever way it came', async () => {
    const apps = [app, app, hosted];
    for (const [at, { origin }] of [socket, slow, hostedSocket].entries()) {
      const own = apps[at] ?? app;
      const gone = new AbortController();
      const query = encodeURIComponent('subscription { postCreated { id } }');
      const headers = { accept: 'text/event-stream', authorization: `Bearer ${key}` };
      const { body } = await fetch(`${origin}/graphql?query=${query}`, { headers, signal: gone.signal });
      const first = await body?.getReader().read();
      expect(Buffer.from(first?.value ?? []).toString()).toMatch(/^retry: /);
      expect(await readMetric(own, 'content_graph_event_streams_open')).toBe(1);
      gone.abort();
      await expect.poll(() => readMetric(own, 'content_graph_event_streams_open')).toBe(0);
    }
  });

  it('has gone both ways', () => {
    expect(socket.fastResponses).toBeGreaterThan(50);
    expect(slow.fastResponses).toBe(0);
    expect(hostedSocket.fastResponses).toBe(0);
  });
});
