import { expect, onTestFinished } from 'vitest';
import { createEmptyDatabase } from '../support/database/empty-database.ts';
import type { Settings } from '../support/processes/process.ts';
import { admin } from '../support/processes/server.ts';
import { UNTHROTTLED } from '../support/settings.ts';

/** The tests are not about limits. */
export const UNLIMITED = {
  // All instances decrypt the responses that one of them has stored.
  SECRET_KEY: 'one secret for all instances of a crash test',
  ...UNTHROTTLED,
  LOG_LEVEL: 'error',
};

/** A new database on the server of DATABASE_URL. */
export async function ownDatabase(): Promise<string> {
  const { url, drop } = await createEmptyDatabase('crash', expect.getState().currentTestName);
  onTestFinished(drop);
  return url;
}

/** An API key of a new account. */
export async function makeKey(dataDir: string, settings: Settings, role = 'member'): Promise<string> {
  const email = `${role}@example.com`;
  const user = ['user', 'create', '--name', 'Writer', '--email', email, '--password', 'a long password'];
  expect((await admin([...user, '--role', role], dataDir, settings)).code).toBe(0);
  const key = [
    'api-key',
    'create',
    '--user',
    email,
    '--name',
    'crash',
    '--scopes',
    'posts:read posts:write drafts:read drafts:write',
  ];
  return (await admin(key, dataDir, settings)).json.key;
}
