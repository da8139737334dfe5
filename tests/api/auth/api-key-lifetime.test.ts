import { describe, expect, it } from 'vitest';
import { createApiKey } from '../../../src/auth/api-keys.ts';
import { SCOPES } from '../../../src/auth/scopes.ts';
import { useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { age } from '../../support/database/aged.ts';
import type { GraphQLResponse } from '../../support/graphql.ts';
import { dataOf, expectForbidden, expectRejected } from '../../support/rejection.ts';
import { clockOf } from '../../support/time/stepped-clock.ts';

/** Revocations hold everywhere within a second (contract: revocation): the clock of this service goes when it is told to. */
const SECOND_MS = 1_000;

function adjustableClock() {
  let aheadMs = 0;
  return {
    ...clockOf(() => Date.now() + aheadMs),
    advance: (ms: number) => {
      aheadMs += ms;
    },
  };
}

describe('The life of an API key', () => {
  const clock = adjustableClock();
  const app = useApp({ clock });

  /** Lets time pass, for the service and for the database. */
  async function pass(ms: number): Promise<void> {
    clock.advance(ms);
    await age(app, 'api_keys', ms);
  }
  const ask = (key: string) => app.gql('{ viewer { id } }', { key });
  function expectDead(response: GraphQLResponse): void {
    expectRejected(response, { code: 'UNAUTHENTICATED', status: 401 });
    expect(response.data).toBeUndefined();
    expect(response.headers.get('www-authenticate')).toMatch(/^Bearer/);
  }

  it('ends when it expires by the database’s clock', async () => {
    const { id } = await app.account();
    const expiresAt = new Date(Date.now() + 3_600 * SECOND_MS);
    const { key } = await createApiKey(app.database, {
      userId: id,
      name: 'k',
      scopes: SCOPES,
      expiresAt,
    });
    dataOf(await ask(key));
    await pass(3_500 * SECOND_MS);
    dataOf(await ask(key));
    await pass(100 * SECOND_MS);
    expectDead(await ask(key));
  });

  it('has no end where none was set', async () => {
    const { id, key } = await app.account();
    await pass(10 * 365 * 24 * 3_600 * SECOND_MS);
    expect(dataOf(await ask(key)).viewer).toEqual({ id });
  });

  it('never has more than its account: with the role goes what the role gave', async () => {
    const { email, id } = await app.account();
    const admin = await app.account({ role: 'admin' });
    const post = await createPost(app, (await app.account()).key);
    const emailQuery = `{ user(id: "${id}") { email } }`;
    expect(dataOf(await app.gql(emailQuery, { key: admin.key }))).toEqual({ user: { email } });
    await app.prisma.user.update({ where: { id: admin.id }, data: { role: 'member' } });
    clock.advance(SECOND_MS);
    const response = await app.gql(emailQuery, { key: admin.key });
    expect(response.data).toEqual({ user: null });
    expectForbidden(await app.gql(`mutation { deletePost(id: "${post}") }`, { key: admin.key }));
  });
});
