import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createAccount, emailKey } from '../auth/account/store.ts';
import { createApiKey } from '../auth/api-key/store.ts';
import { hashPassword } from '../auth/password.ts';
import { scopesOfRole } from '../auth/scopes.ts';
import { hashSecret } from '../auth/secret-format.ts';
import type { Database } from '../platform/db/database.ts';
import { demoFile } from '../platform/db/demo-mark.ts';
import { makeFolder } from '../platform/db/embedded/folder.ts';
import { type Queryable, statement } from '../platform/db/statement.ts';
import { runInPrisma, type UnitOfWork } from '../platform/db/unit-of-work.ts';
import { OperatorError } from '../platform/operator-error.ts';
import { newId } from '../platform/uuid.ts';
import type { DemoKey } from '../request/local-request.ts';
import { DEMO_POSTS, DEMO_USERS, type DemoName } from './demo-content.ts';

/** Printed on a development start, and kept in `demo.json` in the data folder. */
export interface DemoCredentials extends DemoKey {
  readonly password: string;
}

const MINUTE_MS = 60_000;
const newToken = () => randomBytes(16).toString('base64url');

/** The file has no `pageToken` if an earlier version wrote it. */
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

/** Writes the file atomically, readable only by its owner. */
function writeCredentials(dataDir: string, credentials: DemoCredentials): void {
  makeFolder(dataDir);
  const draft = `${demoFile(dataDir)}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 });
  renameSync(draft, demoFile(dataDir));
}

async function seedUsers(db: Queryable, password: string): Promise<Map<DemoName, string>> {
  const ids = new Map<DemoName, string>();
  for (const { name, email } of DEMO_USERS)
    ids.set(name, (await createAccount(db, { name, email, password })).id);
  return ids;
}

const ADD_POST = statement<never>(
  'demo_post',
  'INSERT INTO posts (id, title, body, author_id, created_at) VALUES ($1, $2, $3, $4, $5)',
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

async function seedPosts(db: Queryable, ids: ReadonlyMap<DemoName, string>, nowMs: number): Promise<void> {
  const authorOf = (name: DemoName) => ids.get(name) ?? '';
  for (const { author, title, body, tags, minutesAgo, comments } of DEMO_POSTS) {
    const id = newId();
    const createdMs = nowMs - minutesAgo * MINUTE_MS;
    await db.query(ADD_POST, [id, title, body, authorOf(author), new Date(createdMs)]);
    await db.query(ADD_TAGS, [id, tags]);
    for (const [index, [name, text]] of comments.entries()) {
      const at = new Date(createdMs + (index + 1) * MINUTE_MS);
      await db.query(ADD_COMMENT, [newId(), text, id, authorOf(name), at]);
    }
  }
}

const MARK = statement<never>(
  'demo_mark',
  'INSERT INTO demo_seed (id) VALUES (1) ON CONFLICT (id) DO NOTHING',
);
async function isUsable(database: Database, apiKey: string): Promise<boolean> {
  const where = { hash: new Uint8Array(hashSecret(apiKey)), revokedAt: null, user: { disabledAt: null } };
  return (await runInPrisma(database, (prisma) => prisma.apiKey.count({ where }))) > 0;
}

/** New credentials, in the same transaction as the mark by which `refuseSeeded` knows copies of the database, too. */
async function issueCredentials(db: Queryable, password: string, adaId: string): Promise<DemoCredentials> {
  await db.query(MARK, []);
  const { key } = await createApiKey(db, { userId: adaId, name: 'Demo', scopes: scopesOfRole('member') });
  return { apiKey: key, password, pageToken: newToken() };
}

async function seed(work: UnitOfWork, nowMs: number): Promise<DemoCredentials | undefined> {
  const password = randomBytes(12).toString('base64url');
  if ((await work.withPrisma((prisma) => prisma.user.findFirst({ select: { id: true } }))) === null) {
    const ids = await seedUsers(work, password);
    await seedPosts(work, ids, nowMs);
    return issueCredentials(work, password, ids.get('Ada') ?? '');
  }
  const emails = DEMO_USERS.map(({ email }) => emailKey(email));
  const isAda = { emailKey: emailKey(DEMO_USERS[0].email), disabledAt: null };
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
 * Seeds an empty database for development and returns the demo credentials. Issues new credentials if the
 * file is lost or its key is no longer valid, which also covers an earlier start that crashed. Undefined if
 * the database holds other accounts but no demo.
 */
export async function prepareDemo(
  database: Database,
  dataDir: string,
  nowMs: number,
): Promise<DemoCredentials | undefined> {
  const known = readCredentials(dataDir);
  if (known !== undefined && (await isUsable(database, known.apiKey))) {
    await database.query(MARK, []);
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
