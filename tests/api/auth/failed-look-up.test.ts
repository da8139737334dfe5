import { expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { dataOf, expectRejected } from '../../support/rejection.ts';
import { steppedClock } from '../../support/time/stepped-clock.ts';

const app = useApp({ clock: steppedClock(Date.now()) });

it('a key that could not be looked up is looked up again by the next request, and taken', async () => {
  const { key, id } = await app.account();
  const client = await app.database.dedicatedClient();
  try {
    await client.query('ALTER TABLE api_keys RENAME TO api_keys_elsewhere');
    expectRejected(await app.gql('{ viewer { id } }', { key }), {
      code: 'INTERNAL_SERVER_ERROR',
      status: 500,
    });
    await client.query('ALTER TABLE api_keys_elsewhere RENAME TO api_keys');
  } finally {
    await client.end();
  }
  expect(dataOf(await app.gql('{ viewer { id } }', { key }))).toEqual({ viewer: { id } });
});
