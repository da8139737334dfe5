import { expect, it } from 'vitest';
import { adminCommand } from '../../support/admin-command.ts';
import { useApp } from '../../support/app.ts';
import { person } from '../../support/credentials/session.ts';

const app = useApp({
  settings: {
    PUBLIC_URL: 'https://api.example.com',
    RATE_LIMIT_BURST: '5',
    RATE_LIMIT_PER_SECOND: '0.001',
    AUTH_FAILURE_BURST: '3',
    AUTH_FAILURE_REFILL_SECONDS: '3600',
  },
});
const NEW = 'a new and long enough password';

async function link(): Promise<string> {
  const { email } = await person(app);
  const { json } = await adminCommand(app, ['user', 'create-reset-link', email]);
  const { pathname, search } = new URL(json.link);
  return pathname + search;
}

const send = (path: string, headers: Record<string, string>) =>
  app.fetch(path, {
    method: 'POST',
    headers: { origin: 'null', 'sec-fetch-dest': 'document', ...headers },
    body: new URLSearchParams({ password: NEW, again: NEW }),
  });

it('What pages of other sites send leaves the form of a link its tokens, and guesses are counted', async () => {
  const path = await link();
  const evil = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
  const statuses: number[] = [];
  for (let time = 0; time < 7; time += 1)
    statuses.push((await app.fetch('/graphql', { method: 'POST', headers: evil })).status);
  expect(statuses.at(-1)).toBe(429);
  expect((await send(path, { 'sec-fetch-site': 'cross-site' })).status).toBe(429);
  expect((await send(path, { 'sec-fetch-site': 'same-origin' })).status).toBe(200);
  const guess = `/account/password?token=cgl_${'0'.repeat(36)}`;
  const guesses: number[] = [];
  for (let time = 0; time < 5; time += 1) guesses.push((await app.fetch(guess)).status);
  expect(guesses).toEqual([404, 404, 404, 429, 429]);
});
