import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { visitor } from '../../support/credentials/session.ts';
import { published } from '../../support/trusted-documents.ts';

const SRC = join(import.meta.dirname, '../../../src');
const PAGE = 'https://app.example.com';
const OF_THE_MOMENT = new Set(['x-request-id', 'date']);
/** nginx keeps no response with a longer list. */
const MAX_LIST = 128;

type Fields = Record<string, string>;

const app = useApp({
  settings: {
    ANONYMOUS_READ: 'true',
    PUBLIC_CACHE_SECONDS: '60',
    CORS_ORIGINS: PAGE,
    NODE_ENV: 'development',
  },
});
let credentials: readonly Fields[] = [];
let path = '';

const ask = (headers: Fields) => app.fetch(path, { headers });
const listOf = ({ headers }: Response) => (headers.get('vary') ?? '').toLowerCase().split(', ');

beforeAll(async () => {
  const { key } = await app.account();
  const { cookie, key: other } = await visitor(app);
  credentials = [
    { authorization: `Bearer ${key}` },
    { authorization: `Bearer ${other}` },
    { authorization: 'Bearer nonsense' },
    { cookie },
    { cookie: `${cookie}; theme=dark` },
    { cookie: 'theme=dark' },
  ];
  const body = 'A text that repeats itself. '.repeat(60);
  const { errors } = await app.gql(
    'mutation ($body: String!) { createPost(title: "One", body: $body) { id } }',
    { key, variables: { body } },
  );
  expect(errors).toBeUndefined();
  path = `/graphql?documentId=${await published(app, '{ posts(limit: 5) { id title body author { name } } }')}`;
});

/** Fields that requests have, with what they are likely to hold. Those of `named` change answers. */
const named: Readonly<Record<string, readonly string[]>> = {
  accept: [
    '*/*',
    'application/json',
    'application/graphql-response+json',
    'text/event-stream',
    'text/html',
    'image/png',
  ],
  'accept-encoding': ['gzip', 'br', 'gzip, deflate, br, zstd', 'identity;q=0, *', 'identity', ''],
  origin: [PAGE, 'https://elsewhere.example.com', 'null'],
  'x-show-cost': ['0', '1'],
  'x-show-event-id': ['0', '1'],
};
const others: Readonly<Record<string, readonly string[]>> = {
  'accept-language': ['de', 'en;q=0.5'],
  'user-agent': ['curl/8', 'Mozilla/5.0'],
  referer: ['https://elsewhere.example.com/page'],
  'sec-fetch-site': ['cross-site', 'same-origin', 'none'],
  'sec-fetch-mode': ['cors', 'navigate', 'no-cors'],
  'sec-fetch-dest': ['empty', 'document', 'image', 'iframe'],
  'x-request-id': ['mine'],
  'idempotency-key': ['a-key-of-the-client'],
  'last-event-id': ['nothing'],
  'content-type': ['text/plain', 'application/json'],
  range: ['bytes=0-10'],
  'if-modified-since': ['Fri, 27 Nov 2026 00:00:00 GMT'],
  'cache-control': ['no-cache', 'max-age=0'],
  'x-forwarded-proto': ['http', 'https'],
  'x-forwarded-for': ['192.0.2.7'],
  dnt: ['1'],
  'save-data': ['on'],
};

/** Some of the fields of a table, each with one of its values. */
const fieldsOf = (table: Readonly<Record<string, readonly string[]>>): fc.Arbitrary<Fields> =>
  fc
    .subarray(Object.entries(table))
    .chain((some) =>
      fc.tuple(...some.map(([name, values]) => fc.tuple(fc.constant(name), fc.constantFrom(...values)))),
    )
    .map((fields) => Object.fromEntries(fields));

/** All of a response but what is of its moment. Null for one that no shared cache keeps. */
async function keptOf(response: Response) {
  const { status, headers } = response;
  const body = Buffer.from(await response.arrayBuffer()).toString('base64');
  if (!headers.get('cache-control')?.startsWith('public')) return null;
  return { status, headers: [...headers].filter(([name]) => !OF_THE_MOMENT.has(name)), body };
}

describe('Vary', () => {
  it('names all that a response depends on: what a shared cache keeps is what the next caller would get', async () => {
    const ofCredentials = fc.constantFrom(...[{}, ...credentials]);
    await fc.assert(
      fc.asyncProperty(
        fieldsOf(named),
        fieldsOf(others),
        fieldsOf(named),
        fieldsOf(others),
        ofCredentials,
        async (asked, besides, next, nextBesides, nextCredentials) => {
          const first = await ask({ ...besides, ...asked });
          const list = listOf(first);
          const kept = await keptOf(first);
          if (kept === null) return;
          // The next request has the same in the fields of the list, and whatever it likes in all others.
          const free = { ...nextBesides, ...next, ...nextCredentials };
          const chosen = Object.entries(free).filter(([name]) => !list.includes(name));
          const same = Object.entries(asked).filter(([name]) => list.includes(name));
          expect(await keptOf(await ask(Object.fromEntries([...chosen, ...same])))).toEqual(kept);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('is the same list with every response of a path to GET, short enough for every cache', async () => {
    const lists = new Set<string | null>();
    for (const headers of [
      {},
      ...credentials,
      { accept: 'text/event-stream' },
      { 'if-none-match': '*' },
    ] as Fields[])
      for (const target of [path, '/graphql?query={', '/graphql?query={__typename}', '/graphql']) {
        lists.add((await app.fetch(target, { headers })).headers.get('vary'));
        lists.add((await app.fetch(target, { headers, method: 'HEAD' })).headers.get('vary'));
      }
    expect([...lists]).toEqual([
      'Origin, Accept-Encoding, Authorization, Cookie, Accept, X-Show-Cost, X-Show-Event-Id, X-Show-Deprecations',
    ]);
    for (const { path: at } of app.app.routes) {
      const list = (await app.fetch(at)).headers.get('vary') ?? '';
      expect([at, list.length <= MAX_LIST && list !== '*']).toEqual([at, true]);
    }
  });

  it('is set in one place', () => {
    const files = globSync('**/*.ts', { cwd: SRC }).filter((file) => !file.startsWith('generated/'));
    const setting = files.filter((file) => /['"`]vary['"`]/i.test(readFileSync(join(SRC, file), 'utf8')));
    expect(setting).toEqual(['http/hooks/vary.ts']);
  });
});
