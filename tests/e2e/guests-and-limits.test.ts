import { expect, it } from 'vitest';
import { enter, useEmbeddedApp } from '../support/database/guests.ts';
import { linesOf } from '../support/log-lines.ts';

/** A guest may have the database for longer. */
const app = useEmbeddedApp({ STATEMENT_TIMEOUT_MS: '1500' });

it('what the service waits for a guest of the embedded database is not time of its statements', async () => {
  const { key } = await app.account();
  const viewer = () => app.gql('{ viewer { name } }', { key });
  await viewer();
  const guest = await enter(app);
  const asked = guest.ask('SELECT 7 FROM pg_sleep(3.5)');
  const answers = await Promise.all([viewer(), viewer()]);
  expect(answers).toMatchObject([{ status: 200 }, { status: 200 }]);
  expect(await asked).toEqual([7]);
  expect(linesOf(app.logged, 'restarting the embedded database')).toEqual([]);
});
