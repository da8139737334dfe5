/**
 * The service of src/ with everything on, as `src/serve.ts` puts it together. `--loaders` turns look-ahead off, which
 * no setting does; `--count` counts SQL statements. Settings come from the environment.
 */
import { createRequire } from 'node:module';
import { createApp } from '../../src/app.ts';
import { createNodeServer } from '../../src/http/node-server.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { openDatabase } from '../../src/platform/db/database.ts';
import { createLogger } from '../../src/platform/log.ts';
import { serve } from './child.ts';

type Pg = typeof import('pg');

/** Counts what goes through the `pg` of the service, which is another copy than the one of this package. */
function countStatements(): () => number {
  const pg = createRequire(new URL('../../package.json', import.meta.url))('pg') as Pg;
  const { query } = pg.Client.prototype;
  let count = 0;
  pg.Client.prototype.query = function counted(this: unknown, ...args: unknown[]) {
    count += 1;
    return Reflect.apply(query, this, args) as unknown;
  } as typeof query;
  return () => count;
}

const statements = process.argv.includes('--count') ? countStatements() : undefined;
const config = loadConfig(process.env);
const log = createLogger({ level: config.logLevel, pretty: false });
const database = await openDatabase({ config, log });
const app = createApp({ config, database, log, lookAhead: !process.argv.includes('--loaders') });
const server = createNodeServer({
  handle: app.handle,
  front: app.front,
  maxBodyBytes: config.maxBodyBytes,
  timeoutMs: config.requestTimeoutMs,
  onCutOff: app.onCutOff,
  log,
});
await serve({
  server,
  async close() {
    await app.close();
    await database.close();
  },
  ...(statements === undefined ? {} : { statements }),
});
