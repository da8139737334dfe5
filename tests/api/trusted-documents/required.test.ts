import { beforeAll, describe, expect, it } from 'vitest';
import { adminCommand } from '../../support/admin-command.ts';
import { useAccount, useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { askToken } from '../../support/credentials/oauth.ts';
import { postsNamed } from '../../support/keyed.ts';
import { OLD_TOKENS, OTHER_WAYS } from '../../support/other-ways/requests.ts';
import { type OtherWay, PAGE, PLANTED, PUBLISHED, RUNS, SECRET } from '../../support/other-ways/way.ts';
import { dataOf, expectRejected } from '../../support/rejection.ts';
import { secondInstance } from '../../support/second-instance.ts';
import { issueToken } from '../../support/streams/stream-token.ts';
import { askMembers, published } from '../../support/trusted-documents.ts';

const app = useApp({ settings: { TRUSTED_DOCUMENTS: 'allowed' } });
const account = useAccount(app);
let id = '';
let token = '';
let strictKey = '';
let clientToken = '';
beforeAll(async () => {
  id = await published(app, PUBLISHED);
  await createPost(app, account.key, { title: SECRET });
  token = await issueToken(app, { authorization: `Bearer ${account.key}` });
  const scopes = ['--scopes', 'posts:read,posts:write,users:read'];
  const named = ['--name', 'strict', ...scopes, '--documents', 'required'];
  strictKey = (await adminCommand(app, ['api-key', 'create', '--user', account.email, ...named])).json.key;
  const create = [
    'oauth-client',
    'create',
    '--owner',
    account.email,
    '--grants',
    'client_credentials',
    ...named,
  ];
  const { client_id: clientId, client_secret: secret } = (await adminCommand(app, create)).json;
  const granted = await askToken(app, { id: clientId, secret }, { grant_type: 'client_credentials' });
  clientToken = granted.body.access_token;
});

const instanceOf = (
  trustedDocuments: typeof app.config.trustedDocuments,
  introspection: boolean,
  options = {},
) => secondInstance(app, { config: { ...app.config, trustedDocuments, introspection }, ...options });

/** Whose requests reach what: each must be rejected. */
const WHERE: readonly {
  readonly name: string;
  readonly make: () => ReturnType<typeof instanceOf>;
  readonly key: () => string;
}[] = [
  {
    name: 'a service where they are required',
    make: () => instanceOf('required', true),
    key: () => account.key,
  },
  { name: 'one without introspection', make: () => instanceOf('required', false), key: () => account.key },
  {
    name: 'one with a plugin of Yoga',
    make: () => instanceOf('required', true, { yogaPlugins: [{ onParams: () => undefined }] }),
    key: () => account.key,
  },
  { name: 'a key that requires them', make: () => instanceOf('allowed', true), key: () => strictKey },
  {
    name: 'such a key where texts may be listed',
    make: () => instanceOf('listed', true),
    key: () => strictKey,
  },
  { name: 'such a key where the feature is off', make: () => instanceOf('off', true), key: () => strictKey },
  {
    name: 'an OAuth client that requires them',
    make: () => instanceOf('allowed', true),
    key: () => clientToken,
  },
];

async function outcomeOf(instance: Pick<typeof app, 'fetch'>, way: OtherWay, key: string): Promise<string> {
  const filled = { id, token };
  const path = way.path?.(filled) ?? '/graphql';
  const response = await instance.fetch(path, {
    method: way.method ?? 'GET',
    headers: {
      ...(path.includes('stream_token=') ? {} : { authorization: `Bearer ${key}` }),
      ...way.headers,
    },
    ...(way.body === undefined ? {} : { body: way.body(filled) }),
  });
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
    await response.body?.cancel();
    return 'a stream';
  }
  const body = await response.text();
  if (body.includes(SECRET)) return 'the secret';
  if (response.headers.get('content-type')?.startsWith('text/html')) return PAGE;
  if (body === JSON.stringify({ data: { viewer: { id: account.id } } })) return RUNS;
  const codes = [...body.matchAll(/"code":"([A-Z_]+)"/g)].map(([, code]) => code);
  return `${response.status} ${[...new Set(codes)].join()}`;
}

describe.each(WHERE)('$name', ({ make, key }) => {
  it('runs no text, in whichever way it comes', async () => {
    const instance = make();
    const ways = key() === account.key ? [...OTHER_WAYS, ...OLD_TOKENS] : OTHER_WAYS;
    const got: Record<string, string> = {};
    const expected: Record<string, string> = {};
    for (const way of ways) {
      const outcome = await outcomeOf(instance, way, key());
      got[way.name] = outcome;
      // Some may be rejected for either of two reasons.
      expected[way.name] = way.outcome.split(' or ').includes(outcome) ? outcome : way.outcome;
    }
    expect(got).toEqual(expected);
    expect(Object.keys(got).length).toBe(ways.length);
    expect(await postsNamed(app, PLANTED)).toBe(0);
  });
});

describe.each(['listed', 'required'] as const)('where documents are %s', (policy) => {
  const LOOKS = [
    '{ __typename }',
    '{ __schema { queryType { name } } }',
    '{ a: __typename ...F } fragment F on Query { __type(name: "Post") { name } }',
  ];

  it.each(LOOKS)('introspection alone is open as far as it is open at all: %s', async (query) => {
    const [open, closed] = [instanceOf(policy, true), instanceOf(policy, false)];
    const names = { operationName: null };
    for (const key of [account.key, undefined])
      dataOf(await askMembers(open, { query, ...names }, key === undefined ? {} : { key }));
    const refused = await askMembers(closed, { query }, { key: account.key });
    expectRejected(refused, { code: 'DOCUMENT_REQUIRED', status: 400 });
    expectRejected(await askMembers(closed, { query }), { code: 'UNAUTHENTICATED', status: 401 });
  });

  it('introspection is open beside an operation that is not asked for', async () => {
    const query = 'query Look { __typename } query Read { viewer { id } }';
    const result = await askMembers(
      instanceOf(policy, true),
      { query, operationName: 'Look' },
      { key: account.key },
    );
    expect(dataOf(result)).toEqual({ __typename: 'Query' });
  });

  it.each(['application/json', 'application/graphql-response+json', 'text/event-stream', '*/*'])(
    'a text is rejected in the same words for %s, and as 401 without credentials',
    async (accept) => {
      const instance = instanceOf(policy, true);
      const ask = (key?: string) =>
        askMembers(instance, { query: '{ posts { id } }' }, { headers: { accept }, ...(key && { key }) });
      expectRejected(await ask(), { code: 'UNAUTHENTICATED', status: 401 });
      const { status, errors, data } = await ask(account.key);
      expect([status, data]).toEqual([400, undefined]);
      const message = expect.stringMatching(/^Only published documents are allowed/);
      expect(errors).toEqual([{ message, extensions: { code: 'DOCUMENT_REQUIRED' } }]);
    },
  );
});
