import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { gqlAs, visitor } from '../../support/credentials/session.ts';

/** The page is the service's own: what limits the documents of clients does not touch it. */
describe.each([
  ['where only published documents may run', { TRUSTED_DOCUMENTS: 'required' }],
  [
    'where documents may hardly be deep or dear',
    { MAX_DEPTH: '1', MAX_COMPLEXITY: '1', MAX_TOKENS: '10', MAX_ALIASES: '0' },
  ],
  ['where anybody may read', { ANONYMOUS_READ: 'true' }],
])('The account page %s', (_where, settings) => {
  const app = useApp({ settings });

  it('shows and changes the account', async () => {
    const { cookie, email } = await visitor(app);
    const done = await app.fetch('/account', {
      method: 'POST',
      redirect: 'manual',
      headers: { cookie, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ do: 'update-profile', name: 'Grace' }),
    });
    expect(done.status).toBe(303);
    const page = await (await app.fetch('/account', { headers: { cookie } })).text();
    expect(page).toContain('<h1>Grace</h1>');
    expect(page).toContain(email);
    const asked = await (await app.fetch('/account')).text();
    expect(asked).toContain('name="password"');
  });

  it('opens no way for the documents of others', async () => {
    const { cookie } = await visitor(app);
    const deep = '{ viewer { posts { author { posts { author { id } } } } } }';
    const { errors = [] } = await gqlAs(app, cookie, deep);
    expect(errors.length > 0).toBe(!('ANONYMOUS_READ' in settings));
  });
});
