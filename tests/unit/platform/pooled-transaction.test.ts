import { PGlite } from '@electric-sql/pglite';
import { expect, it, onTestFinished } from 'vitest';
import { openServer } from '../../../src/database/server.ts';
import { loadConfig } from '../../../src/platform/config/config.ts';
import { createLogger } from '../../../src/platform/log/log.ts';

/** The embedded engine is of a version that knows transaction_timeout. */
it('A transaction through a pooler sets its time limit, and leaves none behind in the session', async () => {
  const { begin = '' } = await openServer({
    config: loadConfig({
      ...{ DATABASE_URL: 'postgres://pooler/content', DIRECT_DATABASE_URL: 'postgres://server/content' },
      OPERATION_TIMEOUT_MS: '12000',
    }),
    log: createLogger({ level: 'fatal', pretty: false }),
  });
  const engine = await PGlite.create();
  onTestFinished(() => engine.close());
  const limit = async () => (await engine.query('SHOW transaction_timeout')).rows;
  await engine.exec(begin);
  expect(await limit()).toEqual([{ transaction_timeout: '42s' }]);
  await engine.exec('COMMIT');
  expect(await limit()).toEqual([{ transaction_timeout: '0' }]);
});
