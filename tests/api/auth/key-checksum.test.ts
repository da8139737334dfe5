import { expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { watchedDatabase } from '../../support/database/watched.ts';
import { secondInstance } from '../../support/second-instance.ts';

const app = useApp();

it('a key whose checksum is wrong is rejected without a question to the database; a right one is looked up', async () => {
  const { key } = await app.account();
  let lookUps = 0;
  const watched = watchedDatabase(app.database, ({ name }) => {
    if (name.startsWith('api_keys_by_hash')) lookUps += 1;
  });
  const instance = secondInstance(app, { database: watched });
  const ask = async (given: string) => {
    const headers = { authorization: `Bearer ${given}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ query: '{ viewer { id } }' });
    return (await instance.fetch('/graphql', { method: 'POST', headers, body })).status;
  };
  const other = (character: string | undefined) => (character === 'a' ? 'b' : 'a');
  for (const at of [-1, -8, -20])
    expect(await ask(key.slice(0, at) + other(key.at(at)) + key.slice(key.length + at + 1))).toBe(401);
  expect(lookUps).toBe(0);
  expect(await ask(key)).toBe(200);
  expect(lookUps).toBe(1);
});
