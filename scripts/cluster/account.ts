import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { admin, type ClusterSettings } from './instances.ts';

/** Creates an account and an API key with the admin command. Returns the key. */
export async function createKey(checkout: string, settings: ClusterSettings): Promise<string> {
  const email = 'ada@example.com';
  const password = randomBytes(18).toString('base64url');
  const account = ['--name', 'Ada', '--email', email, '--password', password];
  await admin(checkout, settings, 'user', 'create', ...account);
  const scopes = 'posts:read posts:write users:read';
  const key = ['--user', email, '--name', 'demo', '--scopes', scopes];
  return JSON.parse(await admin(checkout, settings, 'api-key', 'create', ...key)).key;
}

/** The posts that are in the database, by title. */
export async function postsIn(databaseUrl: string): Promise<Map<string, string[]>> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ id: string; title: string }>('SELECT id, title FROM posts');
    const byTitle = new Map<string, string[]>();
    for (const { id, title } of rows) byTitle.set(title, [...(byTitle.get(title) ?? []), id]);
    return byTitle;
  } finally {
    await client.end();
  }
}
