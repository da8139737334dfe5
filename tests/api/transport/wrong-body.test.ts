import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { expectClosedSet } from '../../support/schema/closed-set.ts';
import { anyJson, deepJson } from '../../support/schema/wrong-values.ts';

const RUNS = 150;

describe('Wrong bodies', () => {
  const app = useApp();
  let key = '';
  beforeAll(async () => {
    key = (await app.account()).key;
  });

  const post = (body: BodyInit, headers: Record<string, string> = {}) =>
    app.fetch('/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, ...headers },
      body,
    });

  it('of garbage are rejected with 400', async () => {
    const notJson = (bytes: Uint8Array) => {
      try {
        JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
        return false;
      } catch {
        return true;
      }
    };
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 400 }).filter(notJson), async (bytes) => {
        const response = await post(bytes);
        expect(response.status).toBe(400);
        expect(await expectClosedSet(response)).toEqual(['BAD_REQUEST']);
      }),
      { numRuns: RUNS },
    );
  });

  it('of JSON that is no request, or half of one, get a code of the closed set', async () => {
    const part = fc.option(anyJson, { nil: undefined, freq: 3 });
    const body = fc.oneof(
      anyJson,
      fc.record({ query: part, variables: part, operationName: part, extensions: part }),
      fc.record({
        query: fc.constant('query A { __typename }'),
        variables: part,
        operationName: part,
        extensions: part,
      }),
    );
    await fc.assert(
      fc.asyncProperty(body, async (value) => {
        const sent = JSON.stringify(value) ?? '';
        await expectClosedSet(await post(sent), sent);
      }),
      { numRuns: RUNS },
    );
  });

  it('of garbage in the query text are rejected by the parser or by validation', async () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc
        .array(
          fc.constantFrom(
            '{',
            '}',
            '(',
            ')',
            '[',
            ']',
            '$a',
            '"',
            '...',
            'on',
            ':',
            '@a',
            '#',
            '\u0000',
            'posts',
            '1e9',
          ),
          {
            maxLength: 40,
          },
        )
        .map((tokens) => tokens.join(' ')),
    );
    await fc.assert(
      fc.asyncProperty(text, async (query) => {
        expect((await expectClosedSet(await post(JSON.stringify({ query })), query)).length).toBeGreaterThan(
          0,
        );
      }),
      { numRuns: RUNS },
    );
  });

  it.each(['array', 'object'] as const)(
    'with JSON as deep as it may be (%s) are answered like any other',
    async (kind) => {
      const deep = deepJson(60, kind);
      const postId = await createPost(app, key);
      const tags =
        'mutation ($tags: [String!]) { createPost(title: \\"T\\", body: \\"B\\", tags: $tags) { id } }';
      const title = `mutation ($title: String) { updatePost(id: \\"${postId}\\", title: $title) { id } }`;
      const cases: readonly (readonly [body: string, codes: readonly string[]])[] = [
        [`{"query":"{ __typename }","variables":{"unused":${deep}}}`, []],
        [`{"query":"{ __typename }","extensions":{"unused":${deep}}}`, []],
        [
          `{"query":"query ($limit: Int) { posts(limit: $limit) { id } }","variables":{"limit":${deep}}}`,
          ['BAD_USER_INPUT'],
        ],
        [
          `{"query":"query ($id: ID!) { post(id: $id) { id } }","variables":{"id":${deep}}}`,
          ['BAD_USER_INPUT'],
        ],
        [
          `{"query":"query ($at: DateTime) { posts(createdAfter: $at) { id } }","variables":{"at":${deep}}}`,
          ['BAD_USER_INPUT'],
        ],
        [`{"query":"${tags}","variables":{"tags":${deep}}}`, ['BAD_USER_INPUT']],
        [`{"query":"${title}","variables":{"title":${deep}}}`, ['BAD_USER_INPUT']],
        [deep, ['BAD_REQUEST']],
      ];
      for (const [body, codes] of cases)
        for (const headers of [
          {},
          { 'idempotency-key': `deep-${kind}-${cases.findIndex(([other]) => other === body)}` },
        ])
          expect([...new Set(await expectClosedSet(await post(body, headers)))], body.slice(0, 120)).toEqual(
            codes,
          );
    },
  );

  it('are rejected over GET alike', async () => {
    const value = fc.oneof(fc.string({ unit: 'binary', maxLength: 50 }), fc.json({ maxDepth: 3 }));
    const search = fc.dictionary(
      fc.constantFrom('query', 'variables', 'operationName', 'extensions', 'other'),
      value,
    );
    await fc.assert(
      fc.asyncProperty(search, async (parameters) => {
        const path = `/graphql?${new URLSearchParams(parameters)}`;
        const response = await app.fetch(path, { headers: { authorization: `Bearer ${key}` } });
        expect(
          (await expectClosedSet(response, Object.values(parameters).join('\n'))).length,
        ).toBeGreaterThan(0);
      }),
      { numRuns: RUNS },
    );
  });
});
