import { onTestFinished } from 'vitest';
import { type AppOptions, createApp } from '../../src/app.ts';
import { createLogger } from '../../src/platform/log.ts';
import { ORIGIN, type TestApp } from './app.ts';

/** Another instance of the service on the same database, for as long as the test runs. */
export function secondInstance(
  { config, database, logged }: TestApp,
  options: Partial<AppOptions> = {},
): Pick<TestApp, 'fetch'> {
  const log = createLogger({
    level: 'debug',
    pretty: false,
    destination: { write: (line) => void logged.push(line) },
  });
  const app = createApp({ config, database, log, ...options });
  onTestFinished(() => app.close());
  return { fetch: (path, init) => app.fetch(new Request(new URL(path, ORIGIN), init)) };
}
