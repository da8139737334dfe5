import pg from 'pg';
import { expect, onTestFinished } from 'vitest';
import type { TestApp } from '../app.ts';
import { readMetric } from '../metrics.ts';
import { instanceOnOwnPool } from '../second-instance.ts';
import { switchedProxy } from './switched-proxy.ts';

/** A period that no test reaches: an instance notices only what a notification tells it. */
export const NEVER_MS = 3_600_000;

/** Where the database of an app is. Throws on the embedded database. */
export function postgresOf({ config: { database } }: TestApp) {
  if (database.kind !== 'postgres') throw new Error('this needs PostgreSQL');
  return database;
}

/** An instance on a pool of its own that reaches the database in another way. */
export function instanceThrough(
  app: TestApp,
  addresses: { readonly url: string; readonly directUrl?: string },
  settings: Partial<TestApp['config']> = {},
) {
  const database = { ...postgresOf(app), ...addresses };
  return instanceOnOwnPool(app, { ...app.config, ...settings, database });
}

/** An instance whose connection for notifications can be cut, and whether it has that connection. */
export async function instanceWithCuttableListener(app: TestApp) {
  const { url } = postgresOf(app);
  const listener = await switchedProxy(url);
  await listener.on();
  const instance: Pick<TestApp, 'fetch'> = await instanceThrough(
    app,
    { url, directUrl: listener.url },
    { credentialRecheckMs: NEVER_MS },
  );
  const expectListening = (listening: boolean) =>
    expect.poll(() => readMetric(instance, 'content_graph_notification_listener_up')).toBe(Number(listening));
  return { instance, listener, expectListening };
}

/** A connection of another program, for as long as the test runs. */
export async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

/** A connection with the settings of the service, beside its pool, for as long as the test runs. */
export async function besidePool({ database }: TestApp): Promise<pg.Client> {
  const client = await database.dedicatedClient();
  onTestFinished(() => client.end());
  return client;
}
