import { beforeAll, describe, expect, it } from 'vitest';
import { useAccount, useApp } from '../../../support/app.ts';
import { past, seedPosts } from '../../../support/content.ts';
import { dataOf } from '../../../support/rejection.ts';

const COUNT = 130;

describe('Query.posts', () => {
  const app = useApp();
  const ada = useAccount(app, { name: 'Ada' });
  /** All posts there are, the newest first; three share each millisecond. */
  let newestFirst: string[] = [];

  beforeAll(async () => {
    const dates = Array.from({ length: COUNT }, (_, index) => past(Math.floor(((index * 37) % COUNT) / 3)));
    const ids = await seedPosts(
      app,
      dates.map((createdAt) => ({ authorId: ada.id, createdAt })),
    );
    newestFirst = ids
      .map((id, index) => ({ id, time: dates[index]?.getTime() ?? 0 }))
      .sort((a, b) => b.time - a.time || (a.id < b.id ? 1 : -1))
      .map(({ id }) => id);
  });

  const list = async (args: string): Promise<string[]> => {
    const { posts } = dataOf(await app.gql(`{ posts${args} { id } }`, { key: ada.key }));
    return posts.map(({ id }: { id: string }) => id);
  };

  it('gives the newest first, by creation and then id, 20 of them', async () => {
    expect(await list('')).toEqual(newestFirst.slice(0, 20));
  });

  it('gives as many as `limit` says, from 0 to 100', async () => {
    expect(await list('(limit: 0)')).toEqual([]);
    expect(await list('(limit: 1)')).toEqual(newestFirst.slice(0, 1));
    expect(await list('(limit: 100)')).toEqual(newestFirst.slice(0, 100));
  });

  it('skips `offset`, with `limit` and without', async () => {
    expect(await list('(offset: 5)')).toEqual(newestFirst.slice(5, 25));
    expect(await list('(limit: 7, offset: 100)')).toEqual(newestFirst.slice(100, 107));
    expect(await list('(limit: 100, offset: 100)')).toEqual(newestFirst.slice(100));
    expect(await list(`(offset: ${COUNT})`)).toEqual([]);
    expect(await list('(offset: 10000)')).toEqual([]);
  });

  it('takes null for absent', async () => {
    const nulls = '(limit: null, offset: null, createdAfter: null, tag: null)';
    expect(await list(nulls)).toEqual(newestFirst.slice(0, 20));
  });
});
