/**
 * The service of src/ with everything on. `--loaders` turns look-ahead off and `--alone` the sharing of events
 * between subscribers, which no setting does; `--count` counts SQL statements. Settings come from the environment.
 */
import { createRequire } from 'node:module';
import { startService } from '../../src/app/server.ts';
import { loadConfig } from '../../src/platform/config/config.ts';
import { createLogger } from '../../src/platform/log/log.ts';
import { attend } from './child.ts';

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
const service = await startService(config, log, {
  lookAhead: !process.argv.includes('--loaders'),
  shareEvents: !process.argv.includes('--alone'),
});
attend({
  port: Number(new URL(service.origin).port),
  close: service.stop,
  ...(statements === undefined ? {} : { statements }),
});
