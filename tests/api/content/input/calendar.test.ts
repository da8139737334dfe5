import { describe, expect, it } from 'vitest';
import { useApp } from '../../../support/app.ts';
import { createPost } from '../../../support/content.ts';
import { PASSWORD, visitor } from '../../../support/credentials/session.ts';
import { send } from '../../../support/keyed.ts';
import { dataOf } from '../../../support/rejection.ts';

/** RFC 3339 has years from 0000 to 9999: an offset may lead out of them. */
const OUTSIDE = ['9999-12-31T23:59:59.999-00:01', '9999-12-31T20:00:00-12:00', '0000-01-01T00:00:00+00:01'];
const INSIDE = [
  '9999-12-31T23:59:59.999Z',
  '9999-12-31T23:59:59.999+00:01',
  '0001-01-01T00:00:00Z',
  '0000-01-01T00:00:00Z',
];

describe('An instant at the edge of the calendar', () => {
  const app = useApp();
  const since = 'query ($at: DateTime) { posts(createdAfter: $at) { id } }';

  it.each(OUTSIDE)('is rejected outside of it, as what is no instant: %s', async (outside) => {
    const { key, cookie } = await visitor(app);
    const told = async (at: string) => {
      const create = `mutation { createApiKey(name: "k", scopes: ["posts:read"], expiresAt: "${at}", currentPassword: "${PASSWORD}") { apiKey { expiresAt } } }`;
      const responses = [
        await send(app, { query: since, key, variables: { at } }),
        await send(app, { query: `{ posts(createdAfter: "${at}") { id } }`, key }),
        await send(app, { query: create, cookie }),
      ];
      return responses.map(({ status, codes }) => ({ status, codes }));
    };
    const rejected = await told('9999-13-01T00:00:00Z');
    expect(rejected.flatMap(({ codes }) => codes)).toHaveLength(3);
    expect(await told(outside)).toEqual(rejected);
  });

  it.each(INSIDE)('is taken inside of it: %s', async (at) => {
    const { key } = await app.account();
    await createPost(app, key);
    const { posts } = dataOf(await app.gql(since, { key, variables: { at } }));
    expect(posts.length > 0).toBe(at.startsWith('000'));
  });

  it('is shown as it was given', async () => {
    const { cookie } = await visitor(app);
    const at = '9999-12-31T23:59:59.999Z';
    const create = `mutation { createApiKey(name: "k", scopes: ["posts:read"], expiresAt: "${at}", currentPassword: "${PASSWORD}") { apiKey { expiresAt } } }`;
    const { text } = await send(app, { query: create, cookie });
    expect(JSON.parse(text).data).toEqual({ createApiKey: { apiKey: { expiresAt: at } } });
  });
});
