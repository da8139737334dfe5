import { beforeAll, describe, expect, it } from 'vitest';
import { type Account, useApp } from '../support/app.ts';
import { until } from '../support/process.ts';
import { useCountedDatabase } from '../support/statement-count.ts';
import { steppedClock } from '../support/stepped-clock.ts';

describe('a request without a token', () => {
  const counted = useCountedDatabase();
  const clock = steppedClock();
  // They get the database's address once it is there.
  const settings = Object.assign(counted.settings, { RATE_LIMIT_BURST: '1', RATE_LIMIT_PER_SECOND: '0.001' });
  const app = useApp({ settings, clock });
  let account: Account;
  beforeAll(async () => {
    account = await app.account();
    // Uses the only token; that the key was used is noted once a minute, beside the request.
    await app.gql('{ __typename }', { key: account.key });
    await until('the note', () => counted.completed.includes('UPDATE 1'));
  });

  async function completedBy(query: string, key?: string): Promise<string[]> {
    const before = counted.completed.length;
    const { status } = await app.gql(query, key === undefined ? {} : { key });
    expect(status).toBe(429);
    return counted.completed.slice(before);
  }

  it.each([
    '{ posts { id } }',
    'mutation { createPost(title: "t", body: "b") { id } }',
    '{ not even GraphQL',
  ])('asks the database for nothing but the credentials: %s', async (query) => {
    expect(await completedBy(query, account.key)).toEqual([]);
    clock.advance(1_000);
    expect(await completedBy(query, account.key)).toEqual(['SELECT 1']);
  });

  it('asks it for nothing at all where there are no credentials', async () => {
    await app.gql('{ __typename }');
    expect(await completedBy('{ posts { id } }')).toEqual([]);
  });
});
