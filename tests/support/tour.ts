import { encodeCursor } from '../../src/engine/queries/pagination.ts';
import { ORIGIN, type TestApp } from './app.ts';
import { freshCookie, PASSWORD, visitor } from './credentials/session.ts';
import { graphqlPost } from './graphql.ts';
import { subscribe } from './streams/subscriber.ts';

const HOUR_MS = 3_600_000;
const NOTHING = '01a00000-0000-7000-8000-000000000000';

const CREATE = `mutation ($title: String!, $tags: [String!]) {
  createPost(title: $title, body: "Ein Körper 𝄞 \\\\ ' $1", tags: $tags) { id title body tags createdAt author { name } }
}`;
const LISTS = `query ($tag: String, $after: String, $since: DateTime) {
  posts(tag: $tag) { title tags commentCount comments { body author { name } createdAt } }
  postsConnection(first: 1, after: $after) { edges { cursor node { title } } pageInfo { hasNextPage endCursor } }
  since: posts(createdAfter: $since) { title }
}`;

/** The texts of responses without what is new in each database: ids by the order in which they appear, and the present. */
class Transcript {
  readonly #ids = new Map<string, string>();
  readonly #lines: string[] = [];

  #idOf(id: string): string {
    const known = this.#ids.get(id) ?? `id ${this.#ids.size + 1}`;
    this.#ids.set(id, known);
    return known;
  }

  add(what: string, text: string): void {
    const plain = text
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, (id) => this.#idOf(id))
      .replace(/\d{4}-\d\d-\d\dT[\d:.]{12}Z/g, (at) =>
        Math.abs(Date.parse(at) - Date.now()) < HOUR_MS / 60 ? 'now' : at,
      )
      .replace(/"(cursor|endCursor|key)":"[^"]+"/g, '"$1":…')
      .replace(/user\d+@/g, 'user@');
    this.#lines.push(`${what}: ${plain}`);
  }

  get lines(): readonly string[] {
    return this.#lines;
  }
}

/** Goes through the service once: what it writes, reads, rejects, stores and tells. The same everywhere. */
export async function tour(app: TestApp): Promise<readonly string[]> {
  const transcript = new Transcript();
  const person = await visitor(app, { name: 'Zoë' });
  const { key } = person;

  async function ask(
    what: string,
    query: string,
    variables: object = {},
    headers: Record<string, string> = {},
  ) {
    const response = await app.fetch(
      '/graphql',
      graphqlPost(query, {
        key: headers.cookie === undefined ? key : undefined,
        variables,
        headers,
      }),
    );
    const text = await response.text();
    transcript.add(what, `${response.status} ${response.headers.get('idempotency-replayed')} ${text}`);
    return JSON.parse(text).data;
  }

  const live = await subscribe(app, { key });
  const { createPost } = await ask('create', CREATE, { title: 'One', tags: ['null', 'ä,"b"', '{c}'] });
  for (const turn of ['first', 'again'])
    await ask(`keyed, ${turn}`, CREATE, { title: 'Two', tags: ['null'] }, { 'idempotency-key': 'k' });
  await ask('other variables', CREATE, { title: 'Three' }, { 'idempotency-key': 'k' });
  await ask(
    'update',
    'mutation ($id: ID!) { updatePost(id: $id, tags: ["later", "null"]) { tags createdAt updatedAt: createdAt } }',
    { id: createPost.id },
  );
  for (const body of ['first', "it's \\\\ second"])
    await ask(
      'comment',
      'mutation ($id: ID!, $body: String!) { createComment(postId: $id, body: $body) { body createdAt } }',
      { id: createPost.id, body },
    );
  await ask(
    'comment with a key',
    'mutation ($id: ID!) { createComment(postId: $id, body: "x") { post { commentCount } } }',
    { id: createPost.id },
    { 'idempotency-key': 'c' },
  );
  const since = new Date(Date.now() - HOUR_MS).toISOString();
  await ask('lists', LISTS, { tag: 'null', since });
  await ask('lists to come', LISTS, { tag: 'later', since: '2999-12-31T23:59:59.999+05:45' });
  const after = encodeCursor({ createdAt: new Date(createPost.createdAt), id: createPost.id });
  await ask('lists past a cursor', LISTS, { after });
  await ask(
    'nodes',
    '{ nodes(ids: ["x", "' +
      NOTHING +
      '", "' +
      createPost.id +
      '", "' +
      person.id +
      '"]) { __typename id } }',
  );
  await ask('no nodes', '{ nodes(ids: []) { id } node(id: "x") { id } user(id: "x") { id } }');
  await ask('not found', `mutation { createComment(postId: "${NOTHING}", body: "b") { id } }`);
  await ask('bad input', 'mutation { createPost(title: " ", body: "b") { id } }');

  const cookie = { cookie: person.cookie, origin: ORIGIN };
  const createKey = `mutation ($at: DateTime) {
    createApiKey(name: "k", scopes: ["posts:read"], expiresAt: $at, currentPassword: "${PASSWORD}") {
      key apiKey { id scopes expiresAt } } }`;
  const made = await ask('create a key', createKey, { at: '2999-01-31T12:34:56.789+05:45' }, cookie);
  await ask('a key of the past', createKey, { at: '2001-01-31T00:00:00Z' }, cookie);
  await ask(
    'revoke it',
    'mutation ($id: ID!) { revokeApiKey(id: $id) }',
    { id: made.createApiKey.apiKey.id },
    cookie,
  );
  await ask(
    'who am I',
    '{ viewer { name email createdAt apiKeys { name scopes expiresAt createdAt } sessions { createdAt } } }',
    {},
    cookie,
  );
  await ask(
    'change the password',
    'mutation { changePassword(currentPassword: "wrong", newPassword: "another long one") }',
    {},
    cookie,
  );
  await freshCookie(app, person.email);

  const events = await live.until('Two');
  for (const { title = '' } of events) transcript.add('event', title);
  const resumed = await subscribe(app, { key, header: live.startId });
  for (const { title = '' } of await resumed.until('Two')) transcript.add('event again', title);
  await ask('delete', 'mutation ($id: ID!) { deletePost(id: $id) again: deletePost(id: $id) }', {
    id: createPost.id,
  });
  await resumed.close();
  await live.close();
  return transcript.lines;
}
