import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAccount, emailKey } from '../../auth/accounts.ts';
import { createApiKey } from '../../auth/api-keys.ts';
import { hashPassword } from '../../auth/passwords.ts';
import { scopesOfRole } from '../../auth/scopes.ts';
import { hashSecret } from '../../auth/secrets.ts';
import type { Database } from '../../database/database.ts';
import { makePrivateDirectory } from '../../database/embedded/data-dir.ts';
import { lockDataDir } from '../../database/embedded/data-dir-lock.ts';
import { demoFile } from '../../database/preflight.ts';
import { type Queryable, statement } from '../../database/statement.ts';
import { runInPrisma, type UnitOfWork } from '../../database/unit-of-work.ts';
import type { DemoKey } from '../../http/local-request.ts';
import type { Config } from '../../platform/config/config.ts';
import { OperatorError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import { CONTENT_LIMITS } from '../../schema/content-limits.ts';
import { slugCandidates } from '../../schema/post/slug.ts';
import demo from './demo-data.json' with { type: 'json' };

/** Times are in minutes before the first start. */
export const { users: DEMO_USERS, posts: DEMO_POSTS, draft: DEMO_DRAFT } = demo;
/** The demo key belongs to this account. */
export const DEMO_EMAIL = 'ada@example.com';

/**
 * @returns the data directory of the embedded database that development has seeded
 * @throws {OperatorError} for every other database
 */
function getSeededDataDir({ environment, database }: Config): string {
  if (environment !== 'development')
    throw new OperatorError(
      `NODE_ENV is ${environment}: only development has demo data. Nothing was deleted.`,
    );
  if (database.kind !== 'embedded')
    throw new OperatorError(
      'DATABASE_URL is set: demo:reset deletes the embedded database alone. Nothing was deleted.',
    );
  const { dataDir } = database;
  // Only the first start in development writes the demo file.
  if (!existsSync(demoFile(dataDir)))
    throw new OperatorError(
      `There is no demo data in "${dataDir}": it has no file demo.json. Nothing was deleted.`,
    );
  return dataDir;
}

/**
 * Deletes the embedded database of development with its credentials. The next start begins with the demo
 * data.
 * @returns the deleted paths
 * @throws {OperatorError}
 * @throws {DataDirInUseError}
 */
export function resetDemo(config: Config): readonly string[] {
  const dataDir = getSeededDataDir(config);
  const lock = lockDataDir(dataDir);
  try {
    // The demo file is deleted last, so that an interrupted reset can be repeated.
    const deleted = [join(dataDir, 'postgres'), demoFile(dataDir)];
    for (const path of deleted) rmSync(path, { recursive: true, force: true });
    return deleted;
  } finally {
    lock.release();
  }
}

/** A development start prints the credentials and stores them in `demo.json` in the data directory. */
export interface DemoCredentials extends DemoKey {
  readonly password: string;
}

const MINUTE_MS = 60_000;
const newToken = () => randomBytes(16).toString('base64url');

/** A file from an earlier version has no `pageToken`. */
type Known = Omit<DemoCredentials, 'pageToken'> & Partial<DemoCredentials>;

function readCredentials(dataDir: string): Known | undefined {
  if (!existsSync(demoFile(dataDir))) return undefined;
  try {
    return JSON.parse(readFileSync(demoFile(dataDir), 'utf8')) as Known;
  } catch (error) {
    throw new OperatorError(
      `The file "${demoFile(dataDir)}" with the demo credentials cannot be read: remove it, and the next start writes a new one.`,
      { cause: error },
    );
  }
}

/** The file is written atomically, and only its owner can read it. */
function writeCredentials(dataDir: string, credentials: DemoCredentials): void {
  makePrivateDirectory(dataDir);
  const draft = `${demoFile(dataDir)}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 });
  renameSync(draft, demoFile(dataDir));
}

const SET_PROFILE = statement<never>('demo_profile', 'UPDATE users SET handle = $2, bio = $3 WHERE id = $1');

async function seedUsers(db: Queryable, password: string): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  for (const { name, email, handle, bio } of DEMO_USERS) {
    const { id } = await createAccount(db, { name, email, password });
    await db.query(SET_PROFILE, [id, handle, bio]);
    ids.set(name, id);
  }
  return ids;
}

const ADD_POST = statement<never>(
  'demo_post',
  'INSERT INTO posts (id, title, body, author_id, created_at, slug) VALUES ($1, $2, $3, $4, $5, $6)',
);
const ADD_TAGS = statement<never>(
  'demo_tags',
  `INSERT INTO tags (post_id, name, position, created_at)
   SELECT p.id, given.name, given.position, p.created_at FROM posts p, unnest($2::text[]) WITH ORDINALITY AS given(name, position)
   WHERE p.id = $1`,
);
const ADD_COMMENT = statement<never>(
  'demo_comment',
  'INSERT INTO comments (id, body, post_id, author_id, created_at) VALUES ($1, $2, $3, $4, $5)',
);

async function seedPosts(db: Queryable, ids: ReadonlyMap<string, string>, nowMs: number): Promise<void> {
  const authorOf = (name: string) => {
    const id = ids.get(name);
    if (id === undefined) throw new Error(`demo-data.json has no user "${name}"`);
    return id;
  };
  for (const { author, title, body, tags, minutesAgo, comments } of DEMO_POSTS) {
    const id = newId();
    const createdMs = nowMs - minutesAgo * MINUTE_MS;
    const [slug] = slugCandidates(title, CONTENT_LIMITS.post.slug);
    await db.query(ADD_POST, [id, title, body, authorOf(author), new Date(createdMs), slug]);
    await db.query(ADD_TAGS, [id, tags]);
    for (const [index, comment] of comments.entries()) {
      const at = new Date(createdMs + (index + 1) * MINUTE_MS);
      await db.query(ADD_COMMENT, [newId(), comment.body, id, authorOf(comment.author), at]);
    }
  }
}

export const ADD_DRAFT = statement<never>(
  'demo_draft',
  'INSERT INTO drafts (id, title, body, tags, author_id) VALUES ($1, $2, $3, $4::text[], $5)',
);

async function seedDraft(db: Queryable, ids: ReadonlyMap<string, string>): Promise<void> {
  const { author, title, body, tags } = DEMO_DRAFT;
  await db.query(ADD_DRAFT, [newId(), title, body, tags, ids.get(author) ?? '']);
}

const SET_DEMO_FLAG = statement<never>(
  'demo_mark',
  'INSERT INTO demo_seed (id) VALUES (1) ON CONFLICT (id) DO NOTHING',
);
async function isUsable(database: Database, apiKey: string): Promise<boolean> {
  const where = { hash: new Uint8Array(hashSecret(apiKey)), revokedAt: null, user: { disabledAt: null } };
  return (await runInPrisma(database, (prisma) => prisma.apiKey.count({ where }))) > 0;
}

/** The transaction also sets the demo flag, by which `assertNotSeeded` detects copies of the database. */
async function issueCredentials(db: Queryable, password: string, adaId: string): Promise<DemoCredentials> {
  await db.query(SET_DEMO_FLAG, []);
  const { key } = await createApiKey(db, { userId: adaId, name: 'Demo', scopes: scopesOfRole('member') });
  return { apiKey: key, password, pageToken: newToken() };
}

async function seed(work: UnitOfWork, nowMs: number): Promise<DemoCredentials | undefined> {
  const password = randomBytes(12).toString('base64url');
  if ((await work.withPrisma((prisma) => prisma.user.findFirst({ select: { id: true } }))) === null) {
    const ids = await seedUsers(work, password);
    await seedPosts(work, ids, nowMs);
    await seedDraft(work, ids);
    return issueCredentials(work, password, ids.get('Ada') ?? '');
  }
  const emails = DEMO_USERS.map(({ email }) => emailKey(email));
  const isAda = { emailKey: emailKey(DEMO_EMAIL), disabledAt: null };
  const ada = await work.withPrisma((prisma) =>
    prisma.user.findFirst({ where: isAda, select: { id: true } }),
  );
  if (ada === null) return undefined;
  const passwordHash = await hashPassword(password);
  await work.withPrisma((prisma) =>
    prisma.user.updateMany({ where: { emailKey: { in: emails } }, data: { passwordHash } }),
  );
  return issueCredentials(work, password, ada.id);
}

/**
 * Seeds an empty database for development. Issues new credentials if the file is lost or its key is no longer
 * valid, such as after a crash during an earlier start.
 * @returns the credentials; undefined if the database has other accounts and no demo data
 */
export async function prepareDemo(
  database: Database,
  dataDir: string,
  nowMs: number,
): Promise<DemoCredentials | undefined> {
  const known = readCredentials(dataDir);
  if (known !== undefined && (await isUsable(database, known.apiKey))) {
    await database.query(SET_DEMO_FLAG, []);
    const { pageToken } = known;
    if (pageToken !== undefined) return { ...known, pageToken };
    const completed = { ...known, pageToken: newToken() };
    writeCredentials(dataDir, completed);
    return completed;
  }
  const credentials = await database.unitOfWork().run((work) => seed(work, nowMs));
  if (credentials !== undefined) writeCredentials(dataDir, credentials);
  return credentials;
}
