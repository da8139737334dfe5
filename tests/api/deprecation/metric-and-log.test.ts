import { type GraphQLObjectType, type GraphQLSchema, GraphQLObjectType as ObjectType } from 'graphql';
import { describe, expect, it } from 'vitest';
import { buildSchema } from '../../../src/schema/schema.ts';
import { useApp } from '../../support/app.ts';
import { dataOf } from '../../support/rejection.ts';
import { openByToken, requestToken } from '../../support/streams/stream-token.ts';

function typeOf(schema: GraphQLSchema, name: string): GraphQLObjectType {
  const type = schema.getType(name);
  if (!(type instanceof ObjectType)) throw new Error(`${name} is no object type`);
  return type;
}

/** The schema on the day after `Post.body` and an argument of `posts` were deprecated. */
function withDeprecated(): GraphQLSchema {
  const schema = buildSchema();
  const { body } = typeOf(schema, 'Post').getFields();
  const { posts } = typeOf(schema, 'Query').getFields();
  for (const element of [body, posts?.args.find(({ name }) => name === 'tag')])
    Object.assign(element ?? {}, { deprecationReason: 'There is something better.' });
  return schema;
}

describe('what is deprecated', () => {
  const app = useApp({ schema: withDeprecated() });

  async function uses(): Promise<Record<string, number>> {
    const text = await (await app.fetch('/metrics')).text();
    const lines = text.matchAll(
      /^content_graph_graphql_deprecated_usage_total\{element="([^"]+)",client="([^"]+)"\} (\d+)$/gm,
    );
    return Object.fromEntries(
      [...lines].map(([, element, client, count]) => [`${element} ${client}`, Number(count)]),
    );
  }

  it('keeps working, and is counted for each client that uses it', async () => {
    const [one, other, neither] = await Promise.all([app.account(), app.account(), app.account()]);
    const ask = async (query: string, key: string) => dataOf(await app.gql(query, { key }));
    expect(await ask('mutation { createPost(title: "t", body: "kept") { body } }', one.key)).toEqual({
      createPost: { body: 'kept' },
    });
    expect(await ask('{ posts { ...F } } fragment F on Post { again: body }', one.key)).toEqual({
      posts: [{ again: 'kept' }],
    });
    await ask('query ($tag: String) { posts(tag: $tag) { id } }', other.key);
    await ask('{ posts { id title } }', neither.key);
    const counted = await uses();
    const clientOf = ({ id }: { id: string }) => Object.keys(counted).find((name) => name.includes(id)) ?? '';
    expect(clientOf(one)).toMatch(/^Post\.body /);
    expect(counted[clientOf(one)]).toBe(2);
    expect(clientOf(other)).toMatch(/^Query\.posts\(tag:\) /);
    expect(counted[clientOf(other)]).toBe(1);
    expect(clientOf(neither)).toBe('');
  });

  it('is named in the line of the request that used it, and in no other', async () => {
    const { id, key } = await app.account();
    await app.gql('query Old { posts { body } }', { key });
    await app.gql('query New { posts { title } }', { key });
    const lines = app.logged
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ client }) => String(client).startsWith(id));
    expect(lines.map(({ operationName, deprecatedElements }) => [operationName, deprecatedElements])).toEqual(
      [
        ['Old', ['Post.body']],
        ['New', undefined],
      ],
    );
  });

  it('counts for the operation that ran, not for another one in its document', async () => {
    const { id, key } = await app.account();
    const query = 'query Old { posts { ...F } } fragment F on Post { body } query New { posts { id } }';
    await app.gql(query, { key, operationName: 'New' });
    expect(Object.keys(await uses()).filter((name) => name.includes(id))).toEqual([]);
  });

  it('of a stream by a token counts when the stream opens, and the token is told of it', async () => {
    const { id, key } = await app.account();
    const counts = async () => Object.entries(await uses()).filter(([name]) => name.includes(id));
    const query = 'subscription { postCreated { body } }';
    const asked = await requestToken(app, { authorization: `Bearer ${key}` }, { query });
    const { token } = (await asked.json()) as { token: string };
    expect(await counts()).toEqual([]);
    const { stream } = await openByToken(app, token);
    expect((await counts()).map(([, count]) => count)).toEqual([1]);
    await stream.close();
  });
});
