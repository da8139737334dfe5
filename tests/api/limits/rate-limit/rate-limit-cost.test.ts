import { beforeAll, describe, expect, it } from 'vitest';
import { useAccount, useApp } from '../../../support/app.ts';
import {
  authorizeClient,
  exchangeCode,
  oauthClient,
  statusWith,
} from '../../../support/credentials/oauth.ts';
import { person } from '../../../support/credentials/session.ts';
import { useCountedDatabase } from '../../../support/database/statement-count.ts';
import { until } from '../../../support/processes/process.ts';
import { steppedClock } from '../../../support/time/stepped-clock.ts';

describe('a request without a token', () => {
  const counted = useCountedDatabase();
  const clock = steppedClock();
  // They get the database's address once it is there.
  const settings = Object.assign(counted.settings, { RATE_LIMIT_BURST: '1', RATE_LIMIT_PER_SECOND: '0.001' });
  const app = useApp({ settings, clock });
  const account = useAccount(app);
  beforeAll(async () => {
    // Uses the only token. The use of the key and its address are noted once a minute, beside the request.
    await app.gql('{ __typename }', { key: account.key });
    await until('the notes', () => ['UPDATE 1', 'DELETE 0'].every((tag) => counted.completed.includes(tag)));
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

  it('does not even note that the key was used', async () => {
    clock.advance(61_000);
    const before = counted.completed.length;
    await completedBy('{ posts { id } }', account.key);
    clock.advance(1_000);
    // What the first had written would be done before the second is answered.
    await completedBy('{ posts { id } }', account.key);
    expect(counted.completed.slice(before)).toEqual(['SELECT 1', 'SELECT 1']);
  });

  it('asks it for nothing at all where there are no credentials', async () => {
    await app.gql('{ __typename }');
    expect(await completedBy('{ posts { id } }')).toEqual([]);
  });
});

describe('a request of an OAuth client without a token', () => {
  const counted = useCountedDatabase();
  // Cookies and codes of a sign-in have the system's time.
  const clock = steppedClock(Date.now());
  const app = useApp({ settings: counted.settings, clock });

  it('does not note that the grant was used', async () => {
    const user = await person(app);
    const client = await oauthClient(app, { owner: await app.account(), burst: 1, perSecond: 0.001 });
    const { body } = await exchangeCode(app, client, await authorizeClient(app, client, user));
    const noted = () => counted.completed.filter((tag) => tag === 'UPDATE 1').length;
    const before = noted();
    expect(await statusWith(app, body.access_token)).toBe(200);
    await until('the note', () => noted() === before + 1);
    clock.advance(61_000);
    const from = counted.completed.length;
    expect(await statusWith(app, body.access_token)).toBe(429);
    clock.advance(1_000);
    // What the first had written would be done before the second is answered.
    expect(await statusWith(app, body.access_token)).toBe(429);
    expect(counted.completed.slice(from)).not.toContain('UPDATE 1');
  });
});
