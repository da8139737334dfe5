import { beforeAll, describe, expect, it } from 'vitest';
import { adminCommand } from '../../support/admin-command.ts';
import { useAccount, useApp } from '../../support/app.ts';
import { dataOf, expectRejected } from '../../support/rejection.ts';
import { secondInstance } from '../../support/second-instance.ts';
import { issueToken, openByToken, requestByToken } from '../../support/streams/stream-token.ts';
import { askMembers, freshId, NAMINGS, publish, published, retire } from '../../support/trusted-documents.ts';
import { WAYS } from '../../support/ways.ts';

const app = useApp({ settings: { TRUSTED_DOCUMENTS: 'listed' } });
const account = useAccount(app);
let key = '';
beforeAll(async () => {
  ({ key } = account);
});

const REQUIRED = { code: 'DOCUMENT_REQUIRED', status: 400 } as const;
const viewer = () => ({ viewer: { id: account.id } });
const instanceOf = (trustedDocuments: typeof app.config.trustedDocuments) =>
  secondInstance(app, { config: { ...app.config, trustedDocuments } });

describe('where texts must be listed', () => {
  it.each(WAYS)('the text of a published document runs over $name, however it is printed', async (way) => {
    await published(app, 'query Printed($no: Boolean = false) { viewer { id name @include(if: $no) } }');
    const texts = [
      'query Printed($no: Boolean = false) { viewer { id name @include(if: $no) } }',
      'query Printed(\n  $no: Boolean = false,\n) {\n\tviewer {\n id, name @include(if: $no)\n}} # printed\n',
      '\ufeffquery Printed($no:Boolean=false){viewer{id name@include(if:$no)}}',
    ];
    for (const query of texts) expect((await way.ask(app, { key, query })).data).toEqual(viewer());
  });

  it.each(WAYS)('any other text is rejected over $name', async (way) => {
    await published(app, 'query One { viewer { id name } }');
    const texts = [
      'query Two { viewer { id name } }',
      '{ viewer { id name } }',
      'query One { viewer { name id } }',
      'query One { viewer { id name __typename } }',
      'query One { viewer { id name } } fragment F on User { id }',
      'query One { viewer { id name }',
    ];
    for (const query of texts) {
      const { status, codes } = await way.ask(app, { key, query });
      expect([status, codes]).toEqual([400, ['DOCUMENT_REQUIRED']]);
    }
  });

  it('a text runs as soon as it is published, and no more once it is retired', async () => {
    const query = 'query Late { viewer { id } }';
    for (let i = 0; i < 3; i += 1) expectRejected(await app.gql(query, { key }), REQUIRED);
    const id = await published(app, query);
    expect(dataOf(await app.gql(query, { key }))).toEqual(viewer());
    await retire(app, id);
    await expect.poll(async () => (await app.gql(query, { key })).status).toBe(400);
    expectRejected(await app.gql(query, { key }), REQUIRED);
  });

  it('a published text is told which operation it lacks, as by its id', async () => {
    const query = 'query A { viewer { id } } query B { viewer { id } }';
    const documentId = await published(app, query);
    for (const members of [{ query }, { documentId }])
      for (const operationName of [undefined, 'C']) {
        const response = await askMembers(app, { ...members, operationName }, { key });
        expectRejected(response, { code: 'GRAPHQL_VALIDATION_FAILED', status: 200 });
      }
  });

  it('the other operations of a published text run, too', async () => {
    const query = 'query Left { a: viewer { id } } query Right { b: viewer { id } }';
    await published(app, query);
    expect(dataOf(await app.gql(query, { key, operationName: 'Right' }))).toEqual({ b: { id: account.id } });
  });

  it.each(NAMINGS)('documents run by %s', async (naming, members) => {
    const id = await published(app, 'query ById { viewer { id } }');
    expect(dataOf(await askMembers(app, members(id), { key }))).toEqual(viewer());
    const unknown = await askMembers(app, members(freshId()), { key });
    expectRejected(
      unknown,
      naming === 'persistedQuery'
        ? { code: 'PERSISTED_QUERY_NOT_FOUND' }
        : { code: 'DOCUMENT_NOT_FOUND', status: 404 },
    );
  });

  it('a stream token opens a text for as long as that is published', async () => {
    const query = 'subscription Tokens { postCreated { title } }';
    const id = await published(app, query);
    const token = await issueToken(app, { authorization: `Bearer ${key}` }, { query });
    await (await openByToken(app, token)).stream.close();
    await retire(app, id);
    await expect.poll(async () => (await requestByToken(app, token)).status).toBe(400);
  });
});

describe('a key that is stricter than the service', () => {
  async function keyFor(documents: string): Promise<string> {
    const scopes = ['--scopes', 'posts:read,users:read'];
    const create = ['api-key', 'create', '--user', account.email, '--name', documents, ...scopes];
    return (await adminCommand(app, [...create, '--documents', documents])).json.key;
  }

  it('takes the stricter of the two', async () => {
    const text = 'query Stricter { viewer { id } }';
    await published(app, text);
    const other = 'query NotStricter { viewer { id } }';
    const tried: Record<string, string> = {};
    for (const service of ['off', 'allowed', 'listed', 'required'] as const) {
      const instance = instanceOf(service);
      for (const own of ['listed', 'required'])
        for (const [what, query] of Object.entries({ listed: text, other })) {
          const { errors } = await askMembers(instance, { query }, { key: await keyFor(own) });
          tried[`${service} ${own} ${what}`] = errors?.[0]?.extensions.code ?? 'runs';
        }
    }
    const refused = REQUIRED.code;
    const strict = (service: string) => ({
      [`${service} listed listed`]: service === 'required' ? refused : 'runs',
      [`${service} listed other`]: refused,
      [`${service} required listed`]: refused,
      [`${service} required other`]: refused,
    });
    expect(tried).toEqual({
      ...strict('off'),
      ...strict('allowed'),
      ...strict('listed'),
      ...strict('required'),
    });
  });

  it('knows documents by their ids where the service has the feature off', async () => {
    const id = await published(app, 'query Off { viewer { id } }');
    const response = await askMembers(
      instanceOf('off'),
      { documentId: id },
      { key: await keyFor('required') },
    );
    expect(dataOf(response)).toEqual(viewer());
  });
});

describe('where the feature is off', () => {
  it.each(NAMINGS)('no id is known by %s, and all texts run', async (naming, members) => {
    const off = instanceOf('off');
    const id = await published(app, 'query Known { viewer { id } }');
    expectRejected(
      await askMembers(off, members(id), { key }),
      naming === 'persistedQuery'
        ? { code: 'PERSISTED_QUERY_NOT_SUPPORTED', message: /^PersistedQueryNotSupported$/ }
        : { code: 'DOCUMENT_NOT_FOUND', status: 404 },
    );
    expect(dataOf(await askMembers(off, { query: '{ viewer { id } }' }, { key }))).toEqual(viewer());
    expect((await publish(app, { [id]: 'query Known { viewer { id } }' })).json.unchanged).toBe(1);
  });
});
