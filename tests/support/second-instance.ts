import { afterAll, beforeAll, onTestFinished } from 'vitest';
import type { AppOptions } from '../../src/app/create-app.ts';
import { openDatabase } from '../../src/database/database.ts';
import { developmentRoutes } from '../../src/features/development/routes.ts';
import { createLogger } from '../../src/platform/log/log.ts';
import { createTestApp, ORIGIN, type TestApp } from './app.ts';
import { READING } from './reading-plugin.ts';

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
  const app = createTestApp({ config, database, log, ...options });
  onTestFinished(() => app.close());
  return { fetch: (path, init) => app.fetch(new Request(new URL(path, ORIGIN), init)) };
}

/** An instance with a pool of its own, as another process has it: nothing but the database is shared. */
export async function instanceOnOwnPool(
  app: TestApp,
  config: TestApp['config'] = app.config,
  options: Partial<AppOptions> = {},
): Promise<Pick<TestApp, 'fetch'>> {
  const log = createLogger({
    level: 'debug',
    pretty: false,
    destination: { write: (line) => void app.logged.push(line) },
  });
  const database = await openDatabase({ config, log });
  onTestFinished(() => database.close());
  return secondInstance(app, { ...options, config, database });
}

/** Another instance on the same database, whose requests all pass Yoga and a plugin that reads every result. */
export function useHostedInstance(app: TestApp): TestApp {
  const holder = {} as TestApp;
  beforeAll(() => {
    const { config, database, logged } = app;
    const log = createLogger({
      level: 'debug',
      pretty: false,
      destination: { write: (line) => void logged.push(line) },
    });
    const routes = config.environment === 'development' ? developmentRoutes(config) : [];
    const hosted = createTestApp({ config, database, log, routes, yogaPlugins: [READING] });
    const fetch = (path: string, init?: RequestInit) =>
      hosted.fetch(new Request(new URL(path, ORIGIN), init));
    Object.assign(holder, app, { app: hosted, fetch });
  });
  afterAll(() => holder.app.close());
  return holder;
}
