import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../../support/app.ts';
import { createPost } from '../../../support/content.ts';
import { dataOf, expectBadInput } from '../../../support/rejection.ts';

/** Every argument of the schema that sizes or places a page, with its upper bound. */
const BOUNDED: readonly (readonly [coordinate: string, argument: string, max: number])[] = [
  ['Query.users', 'limit', 100],
  ['Query.users', 'offset', 10_000],
  ['Query.posts', 'limit', 100],
  ['Query.posts', 'offset', 10_000],
  ['User.posts', 'limit', 100],
  ['Post.comments', 'limit', 100],
  ['Post.comments', 'offset', 10_000],
  ['Query.usersConnection', 'limit', 100],
  ['Query.usersConnection', 'first', 100],
  ['Query.postsConnection', 'limit', 100],
  ['Query.postsConnection', 'first', 100],
  ['User.postsConnection', 'limit', 100],
  ['User.postsConnection', 'first', 100],
  ['Post.commentsConnection', 'limit', 100],
  ['Post.commentsConnection', 'first', 100],
];

describe.each(BOUNDED)('%s(%s:)', (coordinate, argument, max) => {
  const [type = '', field = ''] = coordinate.split('.');
  let query = '';
  let key = '';

  beforeAll(async () => {
    const account = await app.account();
    key = account.key;
    const call = `${field}(${argument}: $value) { __typename }`;
    const postId = await createPost(app, key);
    const parents: Record<string, string> = {
      Query: call,
      User: `user(id: "${account.id}") { ${call} }`,
      Post: `post(id: "${postId}") { ${call} }`,
    };
    query = `query ($value: Int) { ${parents[type]} }`;
  });

  const ask = (value: number | null | undefined) =>
    app.gql(query, { key, variables: value === undefined ? {} : { value } });

  it.each([-1, max + 1, -2_147_483_648, 2_147_483_647])('rejects %i by name and range', async (value) => {
    const response = await ask(value);
    expectBadInput(response, argument, new RegExp(`"${argument}".*0 to ${max}`));
    expect(response.data === null || Object.values(response.data).every((part) => part === null)).toBe(true);
  });

  it('takes both bounds, and null for absent', async () => {
    dataOf(await ask(0));
    dataOf(await ask(max));
    expect(dataOf(await ask(null))).toEqual(dataOf(await ask(undefined)));
  });
});

const app = useApp();
