import { once } from 'node:events';
import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { type ReceivedSpan, useCollector } from '../../support/otlp.ts';
import { NO_FAST_PATH, useSocket } from '../../support/socket.ts';

const SPAN = '00f067aa0ba902b7';
const AGENT = 'an agent that nobody else has';
const CLIENT = '203.0.113.7';
let traces = 0;

describe.each([
  ['the fast path', {}],
  ['Yoga', { fastPath: NO_FAST_PATH }],
])('Of a request by %s', (_path, options) => {
  const collector = useCollector({ TRUST_PROXY: '127.0.0.1' });
  const app = useApp({ settings: collector.settings });
  const socket = useSocket(app, options);

  async function send(path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET') {
    traces += 1;
    const traceId = (0xcafe0000 + traces).toString(16).padStart(32, '0');
    const traceparent = `00-${traceId}-${SPAN}-01`;
    const sent = request(new URL(path, socket.origin), {
      method,
      headers: { ...headers, traceparent },
    }).end();
    const [response] = await once(sent, 'response');
    response.resume();
    await once(response, 'end');
    return traceId;
  }

  async function spanOf(traceId: string): Promise<ReceivedSpan> {
    const found = () => collector.spans.find((span) => span.traceId === traceId && span.kind === 2);
    await expect.poll(found).toBeDefined();
    return found() as ReceivedSpan;
  }

  it('the span has the attributes of OpenTelemetry', async () => {
    const { name, attributes } = await spanOf(await send('/graphql?query=%7B__typename%7D&api_key=nonsense'));
    const { port } = new URL(socket.origin);
    expect(name).toBe('GET /graphql');
    expect(attributes).toEqual({
      'http.request.method': 'GET',
      'http.response.status_code': 401,
      'http.route': '/graphql',
      'url.scheme': 'http',
      'url.path': '/graphql',
      'server.address': '127.0.0.1',
      'server.port': Number(port),
      'network.protocol.version': '1.1',
      'content_graph.error.code': 'UNAUTHENTICATED',
    });
  });

  it('a trusted proxy gives scheme and name', async () => {
    const headers = { host: 'api.example.com', 'x-forwarded-proto': 'https', 'x-forwarded-for': CLIENT };
    const { attributes } = await spanOf(await send('/nowhere', headers));
    expect(attributes).toMatchObject({
      'url.scheme': 'https',
      'url.path': '/nowhere',
      'http.route': 'other',
      'server.address': 'api.example.com',
      'server.port': 443,
    });
  });

  it('an IPv6 address has no brackets, and an unknown method is another one', async () => {
    const { attributes } = await spanOf(await send('/nowhere', { host: '[::1]:8080' }, 'PROPFIND'));
    expect(attributes).toMatchObject({
      'http.request.method': '_OTHER',
      'http.request.method_original': 'PROPFIND',
      'server.address': '::1',
      'server.port': 8080,
    });
  });

  it('the path of a sign-in is that of its route', async () => {
    const { attributes } = await spanOf(await send('/oauth/interaction/a-secret-id'));
    expect(attributes['url.path']).toBe(attributes['http.route']);
  });

  it('the span has no IP address, user agent or query string of a client', async () => {
    const headers = { 'user-agent': AGENT, 'x-forwarded-for': CLIENT, 'x-forwarded-proto': 'http' };
    await spanOf(await send('/graphql?query=%7Ba_secret_field%7D', headers));
    const all = Buffer.concat(collector.bodies).toString('latin1');
    for (const value of [AGENT, CLIENT, 'a_secret_field']) expect(all).not.toContain(value);
  });

  it('a probe and a scrape have no span', async () => {
    const probes: string[] = [];
    for (const path of ['/health/live', '/health/ready', '/metrics']) probes.push(await send(path));
    // Spans are exported in the order in which they have ended.
    await spanOf(await send('/nowhere'));
    expect(collector.spans.filter(({ traceId }) => probes.includes(traceId))).toEqual([]);
  });
});
