import { describe, expect, it, onTestFinished } from 'vitest';
import type { AppOptions } from '../../../src/app/create-app.ts';
import { disableAccount } from '../../../src/auth/revocation.ts';
import type { Database } from '../../../src/database/database.ts';
import { type TestApp, useApp } from '../../support/app.ts';
import { freshCookie, type Visitor, visitor } from '../../support/credentials/session.ts';
import { age } from '../../support/database/aged.ts';
import { isOfRequest, watchedDatabase } from '../../support/database/watched.ts';
import { graphqlPost } from '../../support/graphql.ts';
import { secondInstance } from '../../support/second-instance.ts';
import { steppedClock } from '../../support/time/stepped-clock.ts';

const clock = steppedClock(Date.now());
const app = useApp({ clock });
/** What its responses say of buckets does not depend on the time. */
const instanceOf = (options: Partial<AppOptions> = {}) => secondInstance(app, { clock, ...options });
const WHOLE = '{ posts(limit: 3) { id title author { name } } }';
const BY_FIELDS = '{ viewer { id sessions { id } } }';
const CREATE = 'mutation { createPost(title: "T", body: "B") { id } }';
const STREAM = { accept: 'text/event-stream' };
const SUBSCRIBE = 'subscription { postCreated { id } }';

/** What a session can ask: a path and a request. */
const ASKED: Readonly<Record<string, readonly [path: string, init: RequestInit]>> = {
  'a query that one statement answers': ['/graphql', graphqlPost(WHOLE)],
  'the same by GET': [`/graphql?query=${encodeURIComponent(WHOLE)}`, {}],
  'a query whose answer may be too large': ['/graphql', graphqlPost('{ posts(limit: 100) { id body } }')],
  'a query by fields': ['/graphql', graphqlPost(BY_FIELDS)],
  'a query that tells its cost': ['/graphql', graphqlPost(WHOLE, { headers: { 'x-show-cost': '1' } })],
  'a query that reads nothing': ['/graphql', graphqlPost('{ __typename }')],
  'an introspection': ['/graphql', graphqlPost('{ __schema { queryType { name } } }')],
  'an invalid document': ['/graphql', graphqlPost('{ nonsense }')],
  'invalid JSON': [
    '/graphql',
    { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{' },
  ],
  'no operation': ['/graphql', { method: 'GET', headers: { accept: 'application/json' } }],
  'a mutation': ['/graphql', graphqlPost(CREATE)],
  'a mutation with a key': ['/graphql', graphqlPost(CREATE, { headers: { 'idempotency-key': 'k' } })],
  'a mutation from another site': [
    '/graphql',
    graphqlPost(CREATE, { headers: { origin: 'https://evil.example' } }),
  ],
  'a subscription': ['/graphql', graphqlPost(SUBSCRIBE, { headers: STREAM })],
  'an EventSource': [`/graphql?query=${encodeURIComponent(SUBSCRIBE)}`, { headers: STREAM }],
};

type End = (other: Pick<TestApp, 'fetch'>, who: Visitor) => Promise<unknown>;

/** How sessions end, on another instance. */
const ENDINGS: Readonly<Record<string, End>> = {
  'a logout': (other, { cookie }) => other.fetch('/logout', { method: 'POST', headers: { cookie } }),
  'the end of its account': (_other, { id }) => disableAccount(app.database, id),
  'its expiry': () => age(app, 'sessions', 8 * 86_400_000),
};

const ask = (
  instance: Pick<TestApp, 'fetch'>,
  cookie: string,
  [path, init]: readonly [string, RequestInit],
) => instance.fetch(path, { ...init, headers: { ...Object.fromEntries(new Headers(init.headers)), cookie } });

/** All of a response that does not name the request. */
async function contentOf(response: Response) {
  const { status, headers } = response;
  const id = headers.get('x-request-id') ?? '';
  return {
    id,
    content: {
      status,
      headers: [...headers].filter(([name]) => name !== 'x-request-id' && name !== 'date'),
      body: (await response.text()).replaceAll(id, 'ID'),
    },
  };
}

/** The line of the security log about a request, without what names the request. */
const failureOf = (id: string) =>
  app.logged
    .map((line) => JSON.parse(line) as { readonly event: string; readonly requestId?: string })
    .filter(({ event, requestId }) => event === 'auth.credential_rejected' && requestId === id)
    .map(({ requestId: _, ...line }) => ({ ...line, time: undefined }));

/** All that can be asked, after one ending; after the others, what is confirmed in different ways. */
const CASES = Object.entries(ENDINGS).flatMap(([how, end], index) =>
  Object.entries(ASKED).flatMap(([what, asked]) =>
    index === 0 || /^a (query that one|query by|mutation)/.test(what) ? [{ how, end, what, asked }] : [],
  ),
);

describe('a session that was used here and has ended elsewhere', () => {
  it.each(CASES)('is rejected as one never seen: $how, $what', async ({ end, asked }) => {
    const who = await visitor(app);
    const [seen, unseen, other] = [instanceOf(), instanceOf(), instanceOf()];
    expect((await ask(seen, who.cookie, ['/graphql', graphqlPost(WHOLE)])).status).toBe(200);
    const postsBefore = await app.prisma.post.count();
    await end(other, who);
    const expected = await contentOf(await ask(unseen, who.cookie, asked));
    const rejected = await contentOf(await ask(seen, who.cookie, asked));
    expect(expected.content.status).toBe(401);
    expect(new Map(expected.content.headers).get('set-cookie')).toContain('Max-Age=0');
    expect(rejected.content).toEqual(expected.content);
    expect(failureOf(rejected.id)).toEqual(failureOf(expected.id));
    expect(failureOf(rejected.id)).toHaveLength(1);
    expect(await app.prisma.post.count()).toBe(postsBefore);
  });
});

/** The same database, and the statements that the pool runs for requests, by their labels. */
function listening(database: Database) {
  const names: string[] = [];
  const noted = watchedDatabase(database, (statement) => {
    if (isOfRequest(statement)) names.push(statement.name);
  });
  return { noted, taken: () => names.splice(0).map((name) => name.replace(/_[\w-]{22}$/, '')) };
}

describe('a session that was used here before', () => {
  it.each(Object.entries(ASKED).filter(([what]) => !/mutation|subscription|EventSource/.test(what)))(
    'is answered as one never seen: %s',
    async (_what, asked) => {
      const { cookie, email } = await visitor(app);
      const another = await freshCookie(app, email);
      const [seen, unseen] = [instanceOf(), instanceOf()];
      // Both have counted one request of the account.
      await ask(seen, cookie, ['/graphql', graphqlPost(WHOLE)]);
      await ask(unseen, another, ['/graphql', graphqlPost(WHOLE)]);
      const { content } = await contentOf(await ask(unseen, cookie, asked));
      expect((await contentOf(await ask(seen, cookie, asked))).content).toEqual(content);
    },
  );

  it('costs a query no statement of its own, and anything else one', async () => {
    const { cookie } = await visitor(app);
    const { noted, taken } = listening(app.database);
    const instance = instanceOf({ database: noted });
    const statementsOf = async (query: string) => {
      taken();
      await ask(instance, cookie, ['/graphql', graphqlPost(query)]);
      return taken();
    };
    expect(await statementsOf(WHOLE)).toEqual(['sessions_by_hash', 'whole_posts']);
    expect(await statementsOf(WHOLE)).toEqual(['whole_posts']);
    expect(await statementsOf('{ __typename }')).toEqual(['sessions_by_hash']);
    expect((await statementsOf(BY_FIELDS))[0]).toBe('sessions_by_hash');
    expect((await statementsOf(CREATE))[0]).toBe('sessions_by_hash');
  });

  it.each(Object.entries(ASKED).filter(([what]) => /^a (query|mutation|subscription)/.test(what)))(
    'gets no response while it cannot be looked up: %s',
    async (_what, asked) => {
      const { cookie } = await visitor(app);
      const whole = ['/graphql', graphqlPost(WHOLE)] as const;
      expect((await ask(app, cookie, whole)).status).toBe(200);
      const client = await app.database.dedicatedClient();
      const restore = () => client.query('ALTER TABLE IF EXISTS sessions_elsewhere RENAME TO sessions');
      onTestFinished(async () => {
        await restore();
        await client.end();
      });
      await client.query('ALTER TABLE sessions RENAME TO sessions_elsewhere');
      const postsBefore = await app.prisma.post.count();
      const response = await ask(app, cookie, asked);
      expect(response.status).toBe(500);
      expect(await response.text()).not.toContain('"data"');
      expect(await app.prisma.post.count()).toBe(postsBefore);
      await restore();
      expect((await ask(app, cookie, whole)).status).toBe(200);
    },
  );

  it('is rejected for what it is, not for the use that its account makes of the service', async () => {
    const { cookie } = await visitor(app);
    const config = { ...app.config, rateLimit: { burst: 1, perSecond: 0.001 } };
    const [instance, other] = [instanceOf({ config }), instanceOf()];
    const asked = ASKED['a query that one statement answers'] ?? ['', {}];
    expect((await ask(instance, cookie, asked)).status).toBe(200);
    expect((await ask(instance, cookie, asked)).status).toBe(429);
    await other.fetch('/logout', { method: 'POST', headers: { cookie } });
    expect((await ask(instance, cookie, asked)).status).toBe(401);
  });

  it('sees nothing more once it has ended, however many requests are under way', async () => {
    const asked = [ASKED['a query that one statement answers'], ASKED['a query by fields']] as const;
    const instance = instanceOf();
    for (let round = 0; round < 10; round += 1) {
      const { cookie } = await visitor(app);
      let over = false;
      const statuses: { readonly begunAfter: boolean; readonly status: number }[] = [];
      const keepAsking = async (one: readonly [string, RequestInit]) => {
        for (let after = 0; after < 3; ) {
          const begunAfter = over;
          if (begunAfter) after += 1;
          const { status } = await ask(instance, cookie, one);
          statuses.push({ begunAfter, status });
        }
      };
      const asking = [...asked, ...asked, ...asked].map((one) => keepAsking(one ?? ['', {}]));
      try {
        await expect.poll(() => statuses.length).toBeGreaterThan(6);
        await app.fetch('/logout', { method: 'POST', headers: { cookie } });
      } finally {
        over = true;
      }
      await Promise.all(asking);
      const of = (wanted: boolean) =>
        new Set(statuses.flatMap(({ begunAfter, status }) => (begunAfter === wanted ? [status] : [])));
      expect(of(true)).toEqual(new Set([401]));
      expect(of(false)).toContain(200);
    }
  });
});
