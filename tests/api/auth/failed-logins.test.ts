import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { login, PASSWORD, person } from '../../support/credentials/session.ts';

/** Behind a proxy that the tests are, so that they can come from any address. */
const app = useApp({
  settings: { AUTH_FAILURE_BURST: '3', AUTH_FAILURE_REFILL_SECONDS: '3600', TRUST_PROXY: '127.0.0.1' },
});
const WRONG = 'not the password at all';

let addresses = 0;
function anyAddress(): string {
  addresses += 1;
  return `203.0.113.${addresses}`;
}

async function statusesOf(attempts: readonly { email: string; password: string; from: string }[]) {
  const statuses: number[] = [];
  for (const { from, ...body } of attempts)
    statuses.push((await login(app, body, { 'x-forwarded-for': from })).status);
  return statuses;
}

const times = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);

describe('failed logins', () => {
  it('are rejected past the limit for an account, from wherever they come, and the right password with them', async () => {
    const { email } = await person(app);
    const guesses = times(4, () => ({ email, password: WRONG, from: anyAddress() }));
    const right = { email, password: PASSWORD, from: anyAddress() };
    expect(await statusesOf([...guesses, right])).toEqual([401, 401, 401, 429, 429]);
  });

  it('count for an e-mail without account alike', async () => {
    const guesses = times(4, () => ({ email: 'Nobody@example.com', password: WRONG, from: anyAddress() }));
    expect(await statusesOf(guesses)).toEqual([401, 401, 401, 429]);
  });

  it('are rejected past the limit for an address, whatever the account', async () => {
    const from = anyAddress();
    const guesses = times(4, () => ({ email: `${Math.random()}@example.com`, password: WRONG, from }));
    const { email } = await person(app);
    expect(await statusesOf([...guesses, { email, password: PASSWORD, from }])).toEqual([
      401, 401, 401, 429, 429,
    ]);
    expect(await statusesOf([{ email, password: PASSWORD, from: anyAddress() }])).toEqual([200]);
  });

  it('say when to try again', async () => {
    const from = anyAddress();
    const guess = { email: 'someone@example.com', password: WRONG };
    await statusesOf(times(3, () => ({ ...guess, from })));
    const response = await login(app, guess, { 'x-forwarded-for': from });
    expect(response.status).toBe(429);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(3000);
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'RATE_LIMITED' } }] });
  });

  it('many at once get no more tries than one after the other', async () => {
    const { email } = await person(app);
    const responses = await Promise.all(
      times(10, () => login(app, { email, password: WRONG }, { 'x-forwarded-for': anyAddress() })),
    );
    expect(responses.filter(({ status }) => status === 401)).toHaveLength(3);
    expect(responses.filter(({ status }) => status === 429)).toHaveLength(7);
  });

  it('of an account cost nothing elsewhere: who is locked out of it locks nobody else out of the address', async () => {
    const [alice, bob] = [await person(app), await person(app)];
    const from = anyAddress();
    const attack = times(4, () => ({ email: alice.email, password: WRONG, from: anyAddress() }));
    expect(await statusesOf(attack)).toEqual([401, 401, 401, 429]);
    const tries = times(10, () => ({ email: alice.email, password: PASSWORD, from }));
    expect(await statusesOf(tries)).toEqual(times(10, () => 429));
    const guesses = times(4, () => ({ email: bob.email, password: WRONG, from }));
    expect(await statusesOf([{ email: bob.email, password: PASSWORD, from }, ...guesses])).toEqual([
      200, 401, 401, 401, 429,
    ]);
  });

  it('of an address cost the accounts nothing that it asks for when it may not', async () => {
    const { email } = await person(app);
    const from = anyAddress();
    await statusesOf(times(3, () => ({ email: 'someone.else@example.com', password: WRONG, from })));
    expect(await statusesOf(times(10, () => ({ email, password: WRONG, from })))).toEqual(
      times(10, () => 429),
    );
    const guesses = times(4, () => ({ email, password: WRONG, from: anyAddress() }));
    expect(await statusesOf(guesses)).toEqual([401, 401, 401, 429]);
  });

  it('do not count where the login succeeds', async () => {
    const { email } = await person(app);
    const from = anyAddress();
    expect(await statusesOf(times(6, () => ({ email, password: PASSWORD, from })))).toEqual(
      times(6, () => 200),
    );
  });
});
