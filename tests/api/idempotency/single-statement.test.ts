import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { age } from '../../support/database/aged.ts';
import { CREATE_ALONE, type KeyedRequest, postsNamed, send, storedFor } from '../../support/keyed.ts';
import { readMetricBy } from '../../support/metrics.ts';

const HOUR_MS = 3_600_000;
/** Every column of the row under two names, and names that a careless renderer trips over. */
const EVERYTHING = `mutation ($title: String!, $body: String!, $tags: [String!]) {
  __proto__: createPost(title: $title, body: $body, tags: $tags) {
    id title body createdAt commentCount __typename kind: __typename made: createdAt again: createdAt
    __proto__: title constructor: id
  }
}`;

describe('A keyed mutation that is one statement', () => {
  const app = useApp();

  /** How many mutations were a single statement so far. */
  async function alone(): Promise<number> {
    const fetch = (request: Request) => Promise.resolve(app.app.fetch(request));
    return (
      (await readMetricBy({ fetch }, 'content_graph_graphql_execution_paths_total', 'path')).get(
        'single_statement',
      ) ?? 0
    );
  }

  async function twice(request: KeyedRequest) {
    const first = await send(app, request);
    expect(first.replayed).toBeNull();
    const second = await send(app, request);
    expect(second).toMatchObject({ status: first.status, text: first.text, replayed: 'true' });
    return first;
  }

  it.each([
    ['plain', 'plain'],
    ['with the character of the timestamp placeholder, escaped', '\u0001 \u0002 \\u0001 \u0001'],
    ['with quotes, line ends and other scripts', '"q" \\ \n\r\t \u2028 ünïcode 漢字 😀'],
  ])('is replayed to the byte, text %s', async (_what, text) => {
    const { key } = await app.account();
    const before = await alone();
    const variables = { title: `t ${text}`, body: text, tags: ['a', 'b"'] };
    const first = await twice({ query: EVERYTHING, variables, key, idempotencyKey: 'k' });
    expect(first.status).toBe(200);
    expect(await alone()).toBe(before + 1);
    const id = /"id":"([^"]+)"/.exec(first.text)?.[1];
    const createdAt = /"createdAt":"([^"]+)"/.exec(first.text)?.[1];
    const stored = await app.gql(`{ post(id: "${id}") { title body createdAt commentCount tags } }`, { key });
    expect(stored.data.post).toEqual({ ...variables, createdAt, commentCount: 0 });
    expect(first.text).toBe(
      `{"data":{"__proto__":{"id":"${id}","title":${JSON.stringify(variables.title)},"body":${JSON.stringify(text)},"createdAt":"${createdAt}","commentCount":0,"__typename":"Post","kind":"Post","made":"${createdAt}","again":"${createdAt}","__proto__":${JSON.stringify(variables.title)},"constructor":"${id}"}}}`,
    );
    expect(first.text).not.toContain('\u0001');
  });

  it('answers as it does without a key', async () => {
    const { key } = await app.account();
    const request = { query: CREATE_ALONE, variables: { title: 'the same' }, key };
    const anonymised = (text: string) =>
      text.replace(/[0-9a-f-]{36}/, 'ID').replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/, 'NOW');
    const keyed = await send(app, { ...request, idempotencyKey: 'k' });
    const keyless = await send(app, request);
    expect(anonymised(keyed.text)).toBe(anonymised(keyless.text));
    expect(anonymised(keyed.text)).toBe(
      '{"data":{"createPost":{"id":"ID","title":"the same","createdAt":"NOW"}}}',
    );
  });

  it('is new once its response is past the retention, pruned or not', async () => {
    const { key, id } = await app.account();
    const request = { query: CREATE_ALONE, variables: { title: `old ${id}` }, key, idempotencyKey: 'k' };
    const first = await send(app, request);
    await age(app, 'idempotency_keys', 25 * HOUR_MS);
    const second = await twice(request);
    expect(second.text).not.toBe(first.text);
    expect(await postsNamed(app, `old ${id}`)).toBe(2);
    expect(await storedFor(app, id)).toBe(1);
  });

  it.each([
    ['stores the refusal by a rule of the domain', ['posts:write'], ' ', 200, 'BAD_USER_INPUT', 1],
    ['does not store the refusal by a missing scope', ['posts:read'], 'fine', 403, 'FORBIDDEN', 0],
  ] as const)('%s', async (_what, scopes, title, status, code, stored) => {
    const { key, id } = await app.account({ scopes });
    const request = { query: CREATE_ALONE, variables: { title }, key, idempotencyKey: 'k' };
    const first = await send(app, request);
    expect(first).toMatchObject({ status, codes: [code], replayed: null });
    expect(JSON.parse(first.text).data ?? null).toBeNull();
    expect(await storedFor(app, id)).toBe(stored);
    expect(await send(app, request)).toMatchObject({
      text: first.text,
      replayed: stored === 1 ? 'true' : null,
    });
  });

  it('stores nothing where its variables do not fit', async () => {
    const { key, id } = await app.account();
    const request = { query: CREATE_ALONE, variables: { title: 7 }, key, idempotencyKey: 'k' };
    expect(await send(app, request)).toMatchObject({ replayed: null });
    expect(await storedFor(app, id)).toBe(0);
    expect((await twice({ ...request, variables: { title: 'fits' } })).status).toBe(200);
  });

  const WAYS = [
    ['with a key', { idempotencyKey: 'k' }],
    ['without a key', {}],
  ] as const;

  it.each(WAYS)(
    'does nothing at all where its event cannot be stored, and may be sent again, %s',
    async (_how, given) => {
      const { key, id } = await app.account();
      const request = { query: CREATE_ALONE, variables: { title: `late ${id}` }, key, ...given };
      const sql = (text: string) => app.prisma.$executeRawUnsafe(text);
      await sql(
        "CREATE OR REPLACE FUNCTION refuse_event() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no event'; END $$",
      );
      await sql('CREATE TRIGGER refuse BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION refuse_event()');
      try {
        expect(await send(app, request)).toMatchObject({ status: 500, codes: ['INTERNAL_SERVER_ERROR'] });
      } finally {
        await sql('DROP TRIGGER refuse ON events');
      }
      expect([await postsNamed(app, `late ${id}`), await storedFor(app, id)]).toEqual([0, 0]);
      expect(await send(app, request)).toMatchObject({ status: 200, replayed: null });
    },
  );

  it.each(WAYS)(
    'takes the long path where the database gives way to another transaction, and is done once, %s',
    async (_how, given) => {
      const { key, id } = await app.account();
      const request = { query: CREATE_ALONE, variables: { title: `again ${id}` }, key, ...given };
      const before = await alone();
      const sql = (text: string) => app.prisma.$executeRawUnsafe(text);
      await sql('CREATE SEQUENCE IF NOT EXISTS tries');
      await sql('ALTER SEQUENCE tries RESTART');
      await sql(`CREATE OR REPLACE FUNCTION give_way() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF nextval('tries') < 3 THEN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END IF; RETURN NEW; END $$`);
      await sql('CREATE TRIGGER give_way AFTER INSERT ON events FOR EACH ROW EXECUTE FUNCTION give_way()');
      try {
        expect(await send(app, request)).toMatchObject({ status: 200, codes: [], replayed: null });
      } finally {
        await sql('DROP TRIGGER give_way ON events');
      }
      expect(await alone()).toBe(before);
      if ('idempotencyKey' in given)
        expect(await send(app, request)).toMatchObject({ status: 200, replayed: 'true' });
      expect([await postsNamed(app, `again ${id}`), await storedFor(app, id)]).toEqual([
        1,
        'idempotencyKey' in given ? 1 : 0,
      ]);
    },
  );
});
