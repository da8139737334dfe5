import { beforeAll, describe, expect, it } from 'vitest';
import { openLog } from '../../../src/engine/events/log-state.ts';
import { createLogger } from '../../../src/platform/log/log.ts';
import { type Account, type TestApp, useApp } from '../../support/app.ts';
import { createComment, createPost, seedComments, seedPosts } from '../../support/content.ts';
import { type Visitor, visitor } from '../../support/credentials/session.ts';
import { dropEvents, eventsReadable } from '../../support/database/events.ts';
import { useCountedDatabase } from '../../support/database/statement-count.ts';
import { isOfRequest, watchedDatabase } from '../../support/database/watched.ts';
import { graphqlPost } from '../../support/graphql.ts';
import { secondInstance } from '../../support/second-instance.ts';
import { CHANGES, subscribeToChanges, Writer } from '../../support/streams/changes.ts';
import { readEventStream } from '../../support/streams/event-stream.ts';
import { requestStream, subscribe, titlesOf } from '../../support/streams/subscriber.ts';
import { clockOf } from '../../support/time/stepped-clock.ts';
import { WAYS } from '../../support/ways.ts';

const SHOW = { 'x-show-event-id': '1' };
const COST = { 'x-show-cost': '1' };
const NOBODY = '00000000-0000-7000-8000-000000000000';

/** The id that a response has. */
function idIn({ extensions }: { readonly extensions?: Record<string, unknown> | undefined }): string {
  const { eventId } = extensions ?? {};
  expect(eventId).toEqual(expect.stringMatching(/^\S{28,}$/));
  return String(eventId);
}

describe('The event id of a response', () => {
  // Held still, the clock keeps the credential cached: what is counted is the request's own work.
  const now = Date.now();
  const counted = useCountedDatabase();
  const app = useApp({ settings: counted.settings, clock: clockOf(() => now) });
  let ada: Account;
  let browser: Visitor;
  let post = '';
  beforeAll(async () => {
    ada = await app.account();
    browser = await visitor(app);
    [post = ''] = await seedPosts(app, [{ authorId: ada.id, title: 'first', tags: ['t'] }]);
    await seedComments(app, [{ postId: post, authorId: browser.id }]);
    await createPost(app, ada.key, { title: 'told' });
  });

  interface Path {
    readonly query: () => string;
    readonly headers?: () => Record<string, string>;
    /** How many statements more it takes to tell the id. */
    readonly more: number;
  }
  const session = () => ({ authorization: '', cookie: browser.cookie });
  const LISTS = '{ posts(limit: 5) { id title author { name } comments { body } } }';
  const paths: Readonly<Record<string, Path>> = {
    'one statement': { query: () => LISTS, more: 0 },
    'one statement for a connection': {
      query: () =>
        '{ postsConnection(first: 2, tag: "t") { edges { cursor node { id } } pageInfo { endCursor } } }',
      more: 0,
    },
    'one statement for several fields': {
      query: () =>
        `{ a: post(id: "${post}") { id } viewer { name } b: posts(limit: 1) { title } __typename }`,
      more: 0,
    },
    'one statement for a row that there is none of': {
      query: () => `{ post(id: "${NOBODY}") { id } }`,
      more: 0,
    },
    'one statement with its cost': { query: () => LISTS, headers: () => COST, more: 0 },
    'one statement and loaders': {
      query: () => `{ a: post(id: "${post}") { id comments { body } } viewer { name sessions { id } } }`,
      headers: session,
      more: 0,
    },
    loaders: {
      query: () => '{ viewer { id apiKeys { name } sessions { id } posts { title } } }',
      headers: session,
      more: 1,
    },
  };

  const ask = (query: string, headers: Record<string, string> = {}) =>
    app.gql(query, { headers: { authorization: `Bearer ${ada.key}`, ...headers } });

  /** How many statements the database completed while `work` ran. */
  async function completedBy(work: () => Promise<unknown>): Promise<number> {
    const before = counted.completed.length;
    await work();
    return counted.completed.length - before;
  }

  it.each(Object.keys(paths))(
    'by %s is told where it is asked for, and takes no more statements than it must',
    async (name) => {
      const path = paths[name];
      if (path === undefined) throw new Error('there is no such path');
      const headers = Object.fromEntries(
        Object.entries(path.headers?.() ?? {}).filter(([, value]) => value !== ''),
      );
      const options = 'cookie' in headers ? { headers } : { key: ada.key, headers };
      const asking = { ...options, headers: { ...headers, ...SHOW } };
      const plain = await app.gql(path.query(), options);
      expect(plain.extensions ?? {}).not.toHaveProperty('eventId');
      const result = await app.gql(path.query(), asking);
      expect(result.data).toEqual(plain.data);
      expect(result.errors).toEqual(plain.errors);
      const id = idIn(result);
      const without = await completedBy(() => app.gql(path.query(), options));
      expect(without).toBeGreaterThan(0);
      expect(await completedBy(() => app.gql(path.query(), asking))).toBe(without + path.more);
      const stream = await subscribeToChanges(app, { key: ada.key, header: id });
      const writer = new Writer(app);
      await writer.createPost(ada, name);
      await stream.until(({ got }) => got.at(-1)?.told.post?.title === name);
      await stream.close();
    },
  );

  it('is told beside the cost, and for a value of the header that is no 1 it is not', async () => {
    const { extensions } = await ask(LISTS, { ...SHOW, ...COST });
    expect(Object.keys(extensions ?? {}).sort()).toEqual(['cost', 'eventId']);
    for (const value of ['', '0', 'true', '1, 1'])
      expect((await ask(LISTS, { 'x-show-event-id': value })).extensions).toBeUndefined();
  });

  it.each(WAYS)('is told over $name', async (way) => {
    for (const headers of [SHOW, { ...SHOW, ...COST }]) {
      const result = await way.ask(app, { key: ada.key, query: LISTS, headers });
      expect(result.codes).toEqual([]);
      idIn(result);
    }
  });

  it('is told beside errors of fields', async () => {
    const result = await ask('{ posts(limit: 1) { author { email } } post(id: "none") { id } }', SHOW);
    const other = await app.gql('{ posts(limit: 1) { id } viewer { apiKeys { id } } }', {
      key: ada.key,
      headers: SHOW,
    });
    expect(other.errors).toHaveLength(1);
    idIn(other);
    idIn(result);
  });

  it('is not told where nothing is read from the database', async () => {
    for (const query of [
      '{ __typename }',
      '{ __schema { queryType { name } } }',
      '{ a: __typename __type(name: "Post") { name } }',
      '{ post(id: "none") { id } }',
    ])
      for (const headers of [SHOW, { ...SHOW, ...COST }]) {
        await ask(query, headers);
        let extensions: Record<string, unknown> | undefined;
        const statements = await completedBy(async () => {
          ({ extensions } = await ask(query, headers));
        });
        expect([query, statements, extensions ?? {}]).toEqual([
          query,
          0,
          expect.not.objectContaining({ eventId: expect.anything() }),
        ]);
      }
    const rejected = [await ask('{ nonsense }', SHOW), await ask('{ post(id: 1.5) { id } }', SHOW)];
    for (const { errors, extensions } of rejected) {
      expect(errors).toBeDefined();
      expect(extensions ?? {}).not.toHaveProperty('eventId');
    }
  });

  it('is not told on mutations, which take no more statements for it', async () => {
    for (const query of [
      'mutation { createPost(title: "one statement", body: "b") { id } }',
      `mutation { createComment(postId: "${post}", body: "b") { id post { title } } }`,
      `mutation { updatePost(id: "${post}", title: "first") { id author { posts { id } } } }`,
    ]) {
      const without = await completedBy(() => ask(query));
      let extensions: Record<string, unknown> | undefined;
      const statements = await completedBy(async () => {
        ({ extensions } = await ask(query, SHOW));
      });
      expect([statements, extensions]).toEqual([without, undefined]);
    }
  });

  it('is not told on events of subscriptions', async () => {
    const options = { key: ada.key, query: CHANGES, headers: SHOW };
    const stream = readEventStream(await requestStream(app, options));
    await createPost(app, ada.key, { title: 'event' });
    expect(Object.keys(await stream.next())).toEqual(['data']);
  });

  it('is the same for all who ask while nothing happens, whatever they ask for', async () => {
    await eventsReadable(app);
    const ids = [
      idIn(await ask(LISTS, SHOW)),
      idIn(await ask('{ viewer { id } }', SHOW)),
      idIn(await ask(LISTS, { ...SHOW, ...COST })),
      (await subscribe(app, { key: ada.key })).startId,
    ];
    expect(new Set(ids).size).toBe(1);
  });
});

describe('What a response does not show', () => {
  const app = useApp({ settings: { MAX_STREAMS_PER_CLIENT: '1000' } });
  let ada: Account;
  beforeAll(async () => {
    ada = await app.account();
  });

  /** An instance before each of whose statements a post is created elsewhere, and what was. */
  function interrupted(lookAhead: boolean): {
    readonly instance: Pick<TestApp, 'fetch'>;
    readonly created: string[];
    readonly names: string[];
  } {
    const created: string[] = [];
    const names: string[] = [];
    const database = watchedDatabase(app.database, async (statement) => {
      // The time at which an instance notes a use is its own.
      if (!isOfRequest(statement) || statement.name.includes('_touch_')) return;
      names.push(statement.name);
      created.push(await createPost(app, ada.key, { title: `before ${statement.name}` }));
    });
    return { instance: secondInstance(app, { database, lookAhead }), created, names };
  }

  it.each([
    ['by one statement', true, '{ posts(limit: 100) { id } }'],
    ['by loaders', false, '{ viewer { posts(limit: 100) { id author { id } } } posts(limit: 100) { id } }'],
  ])(
    '%s is brought from its event id on, whatever happens between its statements',
    async (_, lookAhead, query) => {
      const { instance, created, names } = interrupted(lookAhead);
      // The first response may need what later ones remember.
      for (let round = 0; round < 2; round += 1) {
        created.length = 0;
        names.length = 0;
        const response = await instance.fetch(
          '/graphql',
          graphqlPost(query, { key: ada.key, headers: SHOW }),
        );
        const result = (await response.json()) as {
          data: { posts: readonly { readonly id: string }[] };
          extensions: Record<string, unknown>;
        };
        const header = idIn(result);
        const last = await createPost(app, ada.key, { title: 'the last' });
        const stream = await subscribeToChanges(app, { key: ada.key, header });
        await stream.until(({ got }) => got.at(-1)?.told.postId === last);
        await stream.close();
        const brought = new Set([
          ...result.data.posts.map(({ id }) => id),
          ...stream.got.map(({ told }) => told.postId),
        ]);
        expect(created.length).toBeGreaterThan(0);
        expect([names, created.filter((id) => !brought.has(id))]).toEqual([names, []]);
      }
    },
  );

  it('is brought by any subscription', async () => {
    const result = await app.gql('{ posts(limit: 1) { id } }', { key: ada.key, headers: SHOW });
    const header = idIn(result);
    const post = await createPost(app, ada.key, { title: 'after' });
    const comment = await createComment(app, ada.key, post);
    const posts = await subscribe(app, { key: ada.key, header });
    expect(titlesOf(await posts.until('after'))).toContain('after');
    for (const filter of [{ post }, { author: ada.id, kinds: ['COMMENT_CREATED'] }, {}]) {
      const stream = await subscribeToChanges(app, { key: ada.key, filter, header, format: 'multipart' });
      await stream.until(({ got }) => got.at(-1)?.told.commentId === comment);
    }
  });
});

describe('On a log without events', () => {
  const query = '{ posts(limit: 10) { title } }';

  async function expectGood(app: TestApp, { key }: Account): Promise<void> {
    for (const headers of [SHOW, { ...SHOW, ...COST }]) {
      const header = idIn(await app.gql(query, { key, headers }));
      await createPost(app, key, { title: 'first' });
      await createPost(app, key, { title: 'second' });
      const stream = await subscribe(app, { key, header });
      expect(titlesOf(await stream.until('second'))).toEqual(['first', 'second']);
      await stream.close();
      await dropEvents(app);
    }
  }

  describe('that nobody has opened', () => {
    const app = useApp();
    it('the event id of a response is good', async () => {
      const account = await app.account();
      const rows = await app.prisma.eventLog.count();
      await expectGood(app, account);
      expect(rows).toBe(0);
    });
  });

  describe('that is open', () => {
    const app = useApp();
    it('the event id of a response is good, before the first event and after the last is dropped', async () => {
      const account = await app.account();
      await openLog(app.database, createLogger({ level: 'error', pretty: false }));
      await expectGood(app, account);
      const before = idIn(await app.gql(query, { key: account.key, headers: SHOW }));
      await createPost(app, account.key, { title: 'dropped' });
      await dropEvents(app);
      const stream = await subscribe(app, { key: account.key, header: before });
      expect((await stream.receive()).errors).toMatchObject([
        { extensions: { code: 'EVENT_HISTORY_EXPIRED' } },
      ]);
    });
  });
});

describe('A page of another origin', () => {
  const origin = 'https://app.example.com';
  const app = useApp({ settings: { CORS_ORIGINS: origin } });
  it('may ask for the event id', async () => {
    const { headers } = await app.fetch('/graphql', {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,x-show-event-id',
      },
    });
    expect(headers.get('access-control-allow-headers')?.split(', ')).toContain('x-show-event-id');
    const other = await app.fetch('/graphql', {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type',
      },
    });
    expect(other.headers.get('access-control-allow-headers')?.split(', ')).toContain('x-show-event-id');
  });
});
