import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { login, PASSWORD, person } from '../../support/credentials/session.ts';
import { steppedClock } from '../../support/time/stepped-clock.ts';

const TOKEN = 'a-token-of-24-characters';
const clock = steppedClock(Date.now());
const app = useApp({
  settings: {
    TRUST_PROXY: '127.0.0.1',
    METRICS_TOKEN: TOKEN,
    AUTH_FAILURE_BURST: '10',
    AUTH_FAILURE_REFILL_SECONDS: '30',
  },
  clock,
});
const from = (address: string) => ({ 'x-forwarded-for': address });
const scrape = (address: string, token?: string) =>
  app.fetch('/metrics', {
    headers: { ...from(address), ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
  });
const guesses = async (address: string, count: number) => {
  const statuses: number[] = [];
  for (let i = 0; i < count; i += 1) statuses.push((await scrape(address, `guess-number-${i}`)).status);
  return statuses;
};
const times = (count: number, status: number) => Array.from({ length: count }, () => status);

describe('wrong tokens for /metrics', () => {
  it('are 429 past the failures of an address, and the right one passes nevertheless', async () => {
    expect(await guesses('203.0.113.1', 12)).toEqual([...times(10, 401), 429, 429]);
    const rejected = await scrape('203.0.113.1', 'another guess');
    expect(Number(rejected.headers.get('retry-after'))).toBe(30);
    expect(await rejected.json()).toMatchObject({ errors: [{ extensions: { code: 'RATE_LIMITED' } }] });
    expect((await scrape('203.0.113.1', TOKEN)).status).toBe(200);
    expect((await scrape('203.0.113.1')).status).toBe(401);
    expect(await guesses('203.0.113.2', 1)).toEqual([401]);
    clock.advance(30_000);
    expect(await guesses('203.0.113.1', 2)).toEqual([401, 429]);
  });

  it('cost the address neither its log-ins nor its other credentials', async () => {
    const address = '203.0.113.3';
    await guesses(address, 20);
    const { email, key } = await person(app);
    expect((await login(app, { email, password: PASSWORD }, from(address))).status).toBe(200);
    const wrong = await app.gql('{ __typename }', { key: `${key}x`, headers: from(address) });
    expect(wrong.status).toBe(401);
  });
});
