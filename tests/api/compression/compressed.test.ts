import { request } from 'node:http';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { type Encoded, readEncoded } from '../../support/encoded.ts';
import { useSocket } from '../../support/socket.ts';

const PAGE = 'https://app.example.com';
const METRICS_TOKEN = 'a token for the scraper of metrics';
const LIST = '{ posts(limit: 100) { id title body createdAt author { id name } } }';

const app = useApp({ settings: { CORS_ORIGINS: PAGE, ANONYMOUS_READ: 'true', METRICS_TOKEN } });
const socket = useSocket(app);
let key = '';

const address = (query: string) => `/graphql?${new URLSearchParams({ query })}`;
const get = async (path: string, headers: Record<string, string>) =>
  readEncoded(await app.fetch(path, { headers }));

beforeAll(async () => {
  ({ key } = await app.account());
  const many = Array.from(
    { length: 30 },
    (_, at) => `p${at}: createPost(title: "Zoë ${at}", body: $body) { id }`,
  );
  const { errors } = await app.gql(`mutation ($body: String!) { ${many.join(' ')} }`, {
    key,
    variables: { body: 'Ein längerer Text, der sich wiederholt. '.repeat(25) },
  });
  expect(errors).toBeUndefined();
});

/** A list with the credentials of a header, by each of the two paths through the service. */
const ways = [
  { name: 'without an Origin', headers: {} },
  { name: 'from a page of another origin', headers: { origin: PAGE } },
];

describe.each(ways)('a response over 1 KB $name', ({ headers: origin }) => {
  const ask = (accepted: string | undefined, query = LIST) =>
    get(address(query), {
      authorization: `Bearer ${key}`,
      ...origin,
      ...(accepted === undefined ? {} : { 'accept-encoding': accepted }),
    });

  it.each([
    ['br', 'br'],
    ['gzip', 'gzip'],
    ['x-gzip', 'gzip'],
    ['zstd', 'zstd'],
    ['gzip, deflate, br', 'br'],
    ['gzip, deflate, br, zstd', 'zstd'],
    ['GZIP', 'gzip'],
    ['*', 'zstd'],
    ['br;q=0.5, gzip', 'gzip'],
    ['zstd;q=0, *', 'br'],
    ['zstd;q=0, br;q=0, *', 'gzip'],
    ['identity;q=0.5, gzip;q=0.5', 'gzip'],
    ['identity;q=0, *;q=0.1', 'zstd'],
  ])('comes as asked: %s', async (accepted, encoding) => {
    const [plain, encoded] = [await ask(undefined), await ask(accepted)];
    expect(plain.encoding).toBeUndefined();
    expect(encoded).toMatchObject({ status: 200, encoding, text: plain.text });
    expect(encoded.size).toBeLessThan(plain.size / 2);
    expect(encoded.headers.get('vary')).toMatch(/\bAccept-Encoding\b/);
    expect(encoded.headers.get('cache-control')).toBe('private, no-cache');
  });

  it.each([
    '',
    'identity',
    'deflate',
    'br;q=0',
    'gzip;q=0, br;q=0, zstd;q=0, *;q=1',
    'gzip;q=0.3, identity',
    'gzip;q=2',
    'brr',
  ])('comes as it is where that is what is asked for: "%s"', async (accepted) => {
    expect((await ask(accepted)).encoding).toBeUndefined();
  });

  it.each([
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip, zstd', 'zstd'],
    ['zstd, br;q=0.9', 'zstd'],
    ['gzip', 'gzip'],
  ])('of less than 16 KB comes in what costs least for it: %s', async (accepted, encoding) => {
    const some = LIST.replace('100', '5');
    const [plain, encoded] = [await ask(undefined, some), await ask(accepted, some)];
    expect(plain.size).toBeLessThan(16_384);
    expect(encoded).toMatchObject({ status: 200, encoding, text: plain.text });
    expect(encoded.size).toBeLessThan(plain.size / 2);
  });

  it('has the same headers but for those of its coding', async () => {
    const [plain, encoded] = [await ask(undefined), await ask('br')];
    const others = ({ headers }: Encoded) =>
      [...headers.keys()].filter((name) => !/^(content-encoding|content-length|vary)$/.test(name));
    expect(others(encoded)).toEqual(others(plain));
  });

  it('is compressed for callers without credentials', async () => {
    const { encoding, text } = await get(address(LIST), { ...origin, 'accept-encoding': 'gzip' });
    expect(encoding).toBe('gzip');
    expect(JSON.parse(text).data.posts).toHaveLength(30);
  });

  it('stays as it is up to 1,024 bytes of UTF-8', async () => {
    // A name has at most 100 characters: these leave less than that.
    const names = Array.from({ length: 9 }, (_, at) => `${'n'.repeat(89)}${at}: __typename`);
    const sized = (accepted: string | undefined, last: number) =>
      ask(accepted, `{ ${names.join(' ')} ${'l'.repeat(last)}: __typename }`);
    const missing = 1_024 - (await sized(undefined, 1)).size;
    expect(missing).toBeGreaterThan(0);
    const [small, large] = [await sized('br', 1 + missing), await sized('br', 2 + missing)];
    expect([small.size, small.encoding]).toEqual([1_024, undefined]);
    expect([Buffer.byteLength(large.text), large.encoding]).toEqual([1_025, 'br']);
  });
});

describe('compression', () => {
  it('leaves every answer what it is, whatever its size and the header', async () => {
    const codings = fc.constantFrom('br', 'gzip', 'x-gzip', 'deflate', 'identity', '*', 'zstd');
    const weight = fc.constantFrom('', ';q=0', ';q=0.5', ';q=1', '; q=0.001', ';q=', ';q=nonsense');
    const header = fc
      .array(fc.tuple(codings, weight), { maxLength: 5 })
      .map((members) => members.map((member) => member.join('')).join(', '));
    await fc.assert(
      fc.asyncProperty(header, fc.nat(30), async (accepted, limit) => {
        const query = `{ posts(limit: ${limit + 1}) { title body } }`;
        const headers = { authorization: `Bearer ${key}` };
        const plain = await get(address(query), headers);
        const encoded = await get(address(query), { ...headers, 'accept-encoding': accepted });
        expect([encoded.status, encoded.text]).toEqual([plain.status, plain.text]);
      }),
      { numRuns: 60 },
    );
  });

  it('queues large responses where many ask for them at the same time', async () => {
    const query = `{ ${Array.from({ length: 5 }, (_, at) => `l${at}: posts(limit: 30) { body }`).join(' ')} }`;
    const headers = { authorization: `Bearer ${key}`, 'accept-encoding': 'br' };
    const responses = await Promise.all(Array.from({ length: 30 }, () => get(address(query), headers)));
    const [first] = responses;
    expect(first?.text.length).toBeGreaterThan(100_000);
    for (const { encoding, text } of responses) expect([encoding, text]).toEqual(['br', first?.text]);
  });

  it.each([
    ['introspection', address('{ __schema { types { name description fields { name description } } } }')],
    ['metrics', '/metrics'],
  ])('is there for %s', async (_what, path) => {
    const { status, encoding } = await get(path, { 'accept-encoding': 'gzip' });
    expect([status, encoding]).toEqual([200, 'gzip']);
  });

  it('is there for a scraper with its token', async () => {
    const headers = { authorization: `Bearer ${METRICS_TOKEN}`, 'accept-encoding': 'gzip' };
    expect((await get('/metrics', headers)).encoding).toBe('gzip');
  });

  it('has the length of what is sent, and nothing is sent to HEAD', async () => {
    const send = (method: string, path: string) =>
      new Promise<{ length: string | undefined; encoding: string | undefined; bytes: number }>(
        (resolve, reject) => {
          const { port } = new URL(socket.origin);
          const sent = request({ port, method, path, headers: { 'accept-encoding': 'gzip' } }, (response) => {
            let bytes = 0;
            response.on('data', (part: Buffer) => {
              bytes += part.length;
            });
            response.on('end', () => {
              const { 'content-length': length, 'content-encoding': encoding } = response.headers;
              resolve({ length, encoding, bytes });
            });
          });
          sent.on('error', reject).end();
        },
      );
    const got = await send('GET', address(LIST));
    expect(got.encoding).toBe('gzip');
    expect(Number(got.length)).toBe(got.bytes);
    expect(got.bytes).toBeGreaterThan(0);
    const head = await send('HEAD', '/metrics');
    expect([head.encoding, head.bytes]).toEqual(['gzip', 0]);
  });

  it('is decoded by fetch', async () => {
    const response = await socket.fetch(address(LIST), { headers: { authorization: `Bearer ${key}` } });
    expect(response.headers.get('content-encoding')).toMatch(/^(br|zstd|gzip)$/);
    expect(JSON.parse(await response.text()).data.posts).toHaveLength(30);
  });
});
