import { expect, it } from 'vitest';
import { accountPage } from '../../support/account-page.ts';
import { useApp } from '../../support/app.ts';
import { gqlAs, visitor } from '../../support/credentials/session.ts';

const BURST = 4;
const app = useApp({ settings: { RATE_LIMIT_BURST: String(BURST), RATE_LIMIT_PER_SECOND: '0.001' } });
const { open, send } = accountPage(app);

it.each([
  ['visits', (cookie: string) => open(cookie), 200],
  ['forms', (cookie: string) => send(cookie, { do: 'update-profile', name: 'Grace' }), 303],
])(
  '%s of the account page take tokens from the bucket that the API takes them from',
  async (_what, ask, good) => {
    const { cookie } = await visitor(app);
    const statuses: number[] = [];
    for (let time = 0; time < BURST + 2; time += 1) statuses.push((await ask(cookie)).status);
    expect(statuses).toEqual([...Array.from({ length: BURST }, () => good), 429, 429]);
    expect((await gqlAs(app, cookie, '{ viewer { id } }')).status).toBe(429);
  },
);
