import { beforeEach, describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { gqlAs, type Visitor, visitor } from '../../support/credentials/session.ts';
import { useCountedDatabase } from '../../support/database/statement-count.ts';

const PAGE = 'https://app.example.com';
const counted = useCountedDatabase({ CORS_ORIGINS: PAGE });
const app = useApp({ settings: counted.settings });

let victim: Visitor;
beforeEach(async () => {
  victim = await visitor(app);
});

const logout = (headers: Record<string, string>) => app.fetch('/logout', { method: 'POST', headers });
const isSignedIn = async () => (await gqlAs(app, victim.cookie, '{ viewer { id } }')).status === 200;

/** What browsers say of a form on a page of another site, and of one of a neighbouring host. */
const ELSEWHERE: readonly (readonly [string, Record<string, string>])[] = [
  ['a form of another site', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
  ['a form of a neighbouring host', { origin: 'https://evil.example.com', 'sec-fetch-site': 'same-site' }],
  ['a page that hides its origin', { origin: 'null' }],
  ['another site, without an origin', { 'sec-fetch-site': 'cross-site' }],
];

describe('POST /logout from a page of another origin', () => {
  it.each(ELSEWHERE)('is 403 and touches no cookie: %s', async (_who, headers) => {
    // A browser keeps the cookie back from another site, but would take a new one from the response.
    const cookies = [{}, { cookie: victim.cookie }, { cookie: 'session_id=ended' }];
    for (const cookie of cookies) {
      const response = await logout({ 'sec-fetch-dest': 'document', ...headers, ...cookie });
      expect([response.status, response.headers.getSetCookie()]).toEqual([403, []]);
      expect(response.headers.get('x-ratelimit-remaining')).not.toBeNull();
      expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'FORBIDDEN' } }] });
    }
    expect(await isSignedIn()).toBe(true);
  });

  it('asks the database for nothing', async () => {
    await isSignedIn();
    const before = counted.completed.length;
    await logout({ cookie: victim.cookie, origin: 'https://evil.example' });
    await logout({ authorization: `Bearer ${victim.key}`, origin: 'https://evil.example' });
    expect(counted.completed.slice(before)).toEqual([]);
  });
});
