import { describe, expect, it, onTestFinished } from 'vitest';
import { createApp } from '../../../../src/app/create-app.ts';
import { createLogger } from '../../../../src/platform/log/log.ts';
import { ORIGIN, useApp } from '../../../support/app.ts';
import { seedPosts } from '../../../support/content.ts';
import { graphqlPost } from '../../../support/graphql.ts';
import { send } from '../../../support/keyed.ts';
import { repeated } from '../../../support/schema/repeated.ts';
import { subscribe } from '../../../support/streams/subscriber.ts';

const MAXIMUM = 150_000;
const BODY = 'x'.repeat(40_000);
/** Four of them nearly fill a response. */
const FILLING = 'x'.repeat(37_000);
const settings = { MAX_RESPONSE_BYTES: String(MAXIMUM) };

const create = (bodies: number) =>
  `mutation ($body: String!, $title: String!) { createPost(title: $title, body: $body) { id ${repeated(bodies, (i) => `b${i}: body`)} } }`;

describe('a mutation whose response is too large', () => {
  const app = useApp({ settings });

  const titles = async (key: string) =>
    (await app.gql('{ viewer { posts { title } } }', { key })).data.viewer.posts;

  it.each([
    ['one field', create(4), BODY],
    ['one field, each character escaped', create(1), '\u0001'.repeat(30_000)],
    ['several fields', create(2).replace(/createPost.*(?= \})/, (field) => `a: ${field} b: ${field}`), BODY],
    [
      'what is read along with it',
      create(1).replace('id ', 'id author { posts(limit: 5) { body a: body b: body } } '),
      BODY,
    ],
  ])('is rejected with COMPLEXITY_LIMIT and changes nothing: %s', async (_what, query, body) => {
    const { key } = await app.account();
    const variables = { title: 'never', body };
    const { status, data, errors } = await app.gql(query, { key, variables });
    expect(status).toBe(400);
    expect(data === undefined).toBe(true);
    expect(errors?.[0]?.extensions).toEqual({
      code: 'COMPLEXITY_LIMIT',
      value: expect.any(Number),
      maximum: MAXIMUM,
    });
    expect(await titles(key)).toEqual([]);
  });

  it('stores nothing under its key: the next mutation with it is the first', async () => {
    const { key } = await app.account();
    const idempotencyKey = 'too large';
    const variables = { title: 'small after all', body: BODY };
    const rejected = await send(app, { query: create(4), variables, key, idempotencyKey });
    expect([rejected.status, rejected.codes]).toEqual([400, ['COMPLEXITY_LIMIT']]);
    const done = await send(app, { query: create(1), variables, key, idempotencyKey });
    expect([done.status, done.replayed]).toEqual([200, null]);
    const again = await send(app, { query: create(1), variables, key, idempotencyKey });
    expect([again.status, again.replayed]).toEqual([200, 'true']);
    expect(await titles(key)).toEqual([{ title: 'small after all' }]);
  });

  it('that was stored while larger ones were allowed is rejected and stays stored', async () => {
    const { key } = await app.account();
    const request = {
      query: create(3),
      variables: { title: 'large', body: BODY },
      key,
      idempotencyKey: 'kept',
    };
    const first = await send(app, request);
    const log = createLogger({ level: 'silent', pretty: false });
    const smaller = createApp({
      config: { ...app.config, maxResponseBytes: 20_000 },
      database: app.database,
      log,
    });
    onTestFinished(() => smaller.close());
    const fetch = (path: string, init?: RequestInit) => smaller.fetch(new Request(`${ORIGIN}${path}`, init));
    const rejected = await send({ fetch }, request);
    expect([rejected.status, rejected.codes, rejected.replayed]).toEqual([400, ['COMPLEXITY_LIMIT'], null]);
    const again = await send(app, request);
    expect([again.status, again.replayed, again.text === first.text]).toEqual([200, 'true', true]);
  });
});

describe('a connection with its cursors', () => {
  const app = useApp({ settings });

  it('is given at exactly the maximum, and rejected with its size at one byte more', async () => {
    const { id: authorId, key } = await app.account();
    const posts = await seedPosts(
      app,
      Array.from({ length: 5 }, () => ({ authorId, body: FILLING })),
    );
    const query =
      '{ postsConnection(first: 4) { edges { cursor node { body } } pageInfo { startCursor endCursor hasNextPage } } }';
    const ask = () => app.fetch('/graphql', graphqlPost(query, { key }));
    const lengthen = (characters: number) =>
      app.gql('mutation ($id: ID!, $body: String!) { updatePost(id: $id, body: $body) { id } }', {
        key,
        variables: { id: posts.at(-1), body: FILLING + 'x'.repeat(characters) },
      });
    const short = (await (await ask()).text()).length;
    await lengthen(MAXIMUM - short);
    const longest = await ask();
    expect([longest.status, (await longest.text()).length]).toEqual([200, MAXIMUM]);
    await lengthen(MAXIMUM - short + 1);
    const rejected = await ask();
    const { errors } = JSON.parse(await rejected.text());
    expect([rejected.status, errors[0].extensions]).toEqual([
      400,
      { code: 'COMPLEXITY_LIMIT', value: MAXIMUM + 1, maximum: MAXIMUM },
    ]);
  });
});

describe('an event that is too large', () => {
  const app = useApp({ settings });

  it('is one `next` with COMPLEXITY_LIMIT and its id; the stream goes on, and resumes after it', async () => {
    const { key } = await app.account();
    const query = `subscription { postCreated { title ${repeated(5, (i) => `b${i}: body`)} } }`;
    const subscriber = await subscribe(app, { key, query });
    const post = (title: string, body: string) => app.gql(create(0), { key, variables: { title, body } });
    await post('before', 'small');
    await post('large', BODY);
    await post('after', 'small');
    expect((await subscriber.receive()).title).toBe('before');
    const { id, title, errors } = await subscriber.receive();
    expect(title).toBeUndefined();
    expect(errors?.map(({ extensions }) => extensions)).toEqual([
      { code: 'COMPLEXITY_LIMIT', value: expect.any(Number), maximum: MAXIMUM },
    ]);
    expect((await subscriber.receive()).title).toBe('after');
    const resumed = await subscribe(app, { key, query, header: id });
    expect((await resumed.receive()).title).toBe('after');
  });
});

describe('introspection', () => {
  const app = useApp({ settings: { MAX_RESPONSE_BYTES: '400000' } });
  const fields = (alias: string, below: string) => `${alias}: fields { name description type { ${below} } }`;

  it.each([
    [
      'aliases in aliases',
      `{ __schema { types { ${repeated(14, (i) => fields(`f${i}`, '...inner'))} } } } fragment inner on __Type { ${repeated(14, (i) => fields(`g${i}`, 'description kind name'))} }`,
    ],
    [
      'aliases at the root',
      `{ ${repeated(20, (i) => `s${i}: __schema { types { ...t } }`)} } fragment t on __Type { description fields { description args { description type { name } } type { description fields { description args { name } type { name description } } } } }`,
    ],
  ])('that is too large is rejected before it runs: %s', async (_what, query) => {
    const { key } = await app.account();
    const { status, data, errors } = await app.gql(query, { key });
    expect([status, errors?.[0]?.extensions.code]).toEqual([400, 'COMPLEXITY_LIMIT']);
    expect(data === undefined).toBe(true);
    // The figure of all of it. What has run is measured no further than the limit.
    expect(errors?.[0]?.extensions.value).toBeGreaterThan(600_000);
  });
});
