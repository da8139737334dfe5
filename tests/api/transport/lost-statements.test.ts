import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';

describe('prepared statements', () => {
  const app = useApp();

  it('are prepared again where another program has them forgotten', async () => {
    const { key } = await app.account();
    const ask = async () => (await app.gql('{ posts { id } }', { key })).status;
    expect(await ask()).toBe(200);
    // On the embedded database all connections share one session.
    const client = await app.database.dedicatedClient();
    await client.query('DEALLOCATE ALL');
    await client.end();
    const statuses = [await ask(), await ask(), await ask()];
    for (const status of statuses) expect([200, 503]).toContain(status);
    await expect.poll(ask).toBe(200);
  });
});
