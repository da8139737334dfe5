import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../../support/app.ts';
import { past, seedPosts } from '../../../support/content.ts';
import { dataOf, expectBadInput } from '../../../support/rejection.ts';

describe('Query.posts(createdAfter:)', () => {
  const app = useApp();
  let key = '';
  /** Five posts, one a millisecond. */
  let oldestFirst: string[] = [];

  beforeAll(async () => {
    const { id, key: ownKey } = await app.account();
    key = ownKey;
    const times = [3, 0, 4, 1, 2];
    const ids = await seedPosts(
      app,
      times.map((ms) => ({ authorId: id, createdAt: past(ms), tags: ms % 2 === 0 ? ['even'] : [] })),
    );
    oldestFirst = [1, 3, 4, 0, 2].map((index) => ids[index] ?? '');
  });

  const postsAfter = async (createdAfter: string, rest = ''): Promise<string[]> => {
    const query = `query ($since: DateTime) { posts(createdAfter: $since ${rest}) { id } }`;
    const { posts } = dataOf(await app.gql(query, { key, variables: { since: createdAfter } }));
    return posts.map(({ id }: { id: string }) => id);
  };

  it('gives what was created strictly after the instant, the oldest first', async () => {
    expect(await postsAfter(past(-1).toISOString())).toEqual(oldestFirst);
    expect(await postsAfter(past(1).toISOString())).toEqual(oldestFirst.slice(2));
    expect(await postsAfter(past(4).toISOString())).toEqual([]);
  });

  it('goes with `limit` and `tag`, and leads through the list by the last one’s createdAt', async () => {
    expect(await postsAfter(past(-1).toISOString(), ', tag: "even"')).toEqual(
      [0, 2, 4].map((index) => oldestFirst[index]),
    );
    const query = 'query ($since: DateTime!) { posts(createdAfter: $since, limit: 2) { id createdAt } }';
    const walked: string[] = [];
    for (let since: string | undefined = '2019-12-31T00:00:00Z'; since !== undefined; ) {
      const { posts } = dataOf(await app.gql(query, { key, variables: { since } }));
      walked.push(...posts.map(({ id }: { id: string }) => id));
      since = posts.at(-1)?.createdAt;
    }
    expect(walked).toEqual(oldestFirst);
  });

  it('takes the first and the last instants that can be written', async () => {
    expect(await postsAfter('0000-01-01T23:59:00+23:59')).toEqual(oldestFirst);
    expect(await postsAfter('0001-01-01T00:00:00Z')).toEqual(oldestFirst);
    expect(await postsAfter('9999-12-31T00:00:59.999-23:59')).toEqual([]);
  });

  it.each([0, 1])('rejects offset %i beside it', async (offset) => {
    const query = `{ posts(createdAfter: "2020-01-01T00:00:00Z", offset: ${offset}) { id } }`;
    expectBadInput(await app.gql(query, { key }), 'offset', /createdAfter/);
  });
});
