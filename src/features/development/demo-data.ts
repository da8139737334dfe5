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

/** Times are in minutes before the first start. */
export const DEMO_USERS = [
  {
    name: 'Ada',
    email: 'ada@example.com',
    handle: 'ada',
    bio: 'Writes programs for machines that are not built yet.',
  },
  { name: 'Linus', email: 'linus@example.com', handle: 'linus', bio: 'Just a hobby.' },
  {
    name: 'Grace',
    email: 'grace@example.com',
    handle: 'grace',
    bio: 'Compilers, nanoseconds and moths.',
  },
] as const;

export type DemoName = (typeof DEMO_USERS)[number]['name'];

export interface DemoPost {
  readonly author: DemoName;
  readonly title: string;
  readonly body: string;
  readonly tags: readonly string[];
  readonly minutesAgo: number;
  readonly comments: readonly (readonly [DemoName, string])[];
}

export const DEMO_POSTS: readonly DemoPost[] = [
  {
    author: 'Ada',
    title: 'Notes on the Analytical Engine',
    body: 'The engine weaves algebraic patterns just as the loom weaves flowers and leaves. It has no pretensions to originate anything.\n\nIt does what we know how to order it to perform. It can follow analysis, but it has no power of anticipating any relations or truths. Its province is to assist us in making available what we are already acquainted with.',
    tags: ['computing', 'history'],
    minutesAgo: 5_000,
    comments: [
      ['Grace', 'The footnotes of this one are where it all begins.'],
      ['Linus', 'Does it run?'],
      ['Ada', 'On paper, flawlessly.'],
    ],
  },
  {
    author: 'Grace',
    title: 'A moth in relay 70',
    body: 'Found at 15:45, taped into the log book. The first actual case of a bug being found. We are debugging the machine.',
    tags: ['computing', 'debugging'],
    minutesAgo: 4_200,
    comments: [
      ['Ada', 'A name that will stick.'],
      ['Linus', 'Reproducible?'],
    ],
  },
  {
    author: 'Linus',
    title: 'Just a hobby, will not be big',
    body: 'I am doing a free operating system. It has been brewing since April and is starting to get ready. I would like any feedback on what people want in it.\n\nIt is not portable, and it probably never will support anything other than the disks I have. If you like to write your own device drivers, this one might be for you.',
    tags: ['operating systems', 'open source'],
    minutesAgo: 3_600,
    comments: [
      ['Grace', 'Ship it, then apologise.'],
      ['Ada', 'What does it compute?'],
    ],
  },
  {
    author: 'Grace',
    title: 'Why a nanosecond is 30 centimetres',
    body: 'I hand out pieces of wire as long as light travels in a nanosecond. People ask why satellites respond so late: there are very many nanoseconds between here and there.',
    tags: ['teaching', 'latency'],
    minutesAgo: 2_100,
    comments: [['Linus', 'Printing this for the office.']],
  },
  {
    author: 'Ada',
    title: 'On loops',
    body: 'A cycle of operations is any set of operations that is repeated more than once. It is equally a cycle whether repeated twice only, or an indefinite number of times.',
    tags: ['computing'],
    minutesAgo: 900,
    comments: [],
  },
  {
    author: 'Linus',
    title: 'Good taste in linked lists',
    body: 'Sometimes a problem can be looked at from another side so that the special case goes away and becomes the normal case. That is good code.',
    tags: ['code', 'open source'],
    minutesAgo: 45,
    comments: [
      ['Ada', 'The pointer to the pointer is lovely.'],
      ['Grace', 'Readable, too.'],
    ],
  },
];

export const DEMO_DRAFT = {
  author: 'Ada',
  title: 'On machines that compose music',
  body: 'Supposing that the relations of pitched sounds were susceptible of such expression,',
  tags: ['music'],
} as const satisfies Pick<DemoPost, 'author' | 'title' | 'body' | 'tags'>;

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

async function seedUsers(db: Queryable, password: string): Promise<Map<DemoName, string>> {
  const ids = new Map<DemoName, string>();
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

async function seedPosts(db: Queryable, ids: ReadonlyMap<DemoName, string>, nowMs: number): Promise<void> {
  const authorOf = (name: DemoName) => ids.get(name) ?? '';
  for (const { author, title, body, tags, minutesAgo, comments } of DEMO_POSTS) {
    const id = newId();
    const createdMs = nowMs - minutesAgo * MINUTE_MS;
    const [slug] = slugCandidates(title, CONTENT_LIMITS.post.slug);
    await db.query(ADD_POST, [id, title, body, authorOf(author), new Date(createdMs), slug]);
    await db.query(ADD_TAGS, [id, tags]);
    for (const [index, [name, text]] of comments.entries()) {
      const at = new Date(createdMs + (index + 1) * MINUTE_MS);
      await db.query(ADD_COMMENT, [newId(), text, id, authorOf(name), at]);
    }
  }
}

export const ADD_DRAFT = statement<never>(
  'demo_draft',
  'INSERT INTO drafts (id, title, body, tags, author_id) VALUES ($1, $2, $3, $4::text[], $5)',
);

async function seedDraft(db: Queryable, ids: ReadonlyMap<DemoName, string>): Promise<void> {
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
