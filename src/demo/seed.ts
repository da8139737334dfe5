import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAccount, emailKey } from '../auth/account/store.ts';
import { hashApiKey } from '../auth/api-key/format.ts';
import { createApiKey } from '../auth/api-key/store.ts';
import { hashPassword } from '../auth/password.ts';
import { scopesOfRole } from '../auth/scopes.ts';
import type { PrismaClient } from '../generated/prisma/client.ts';
import { OperatorError } from '../platform/operator-error.ts';
import { newId } from '../platform/uuid.ts';
import { DEMO_POSTS, DEMO_USERS, type DemoName } from './data.ts';

/** Printed on a development start, and kept in `demo.json` in the data folder. */
export interface DemoCredentials {
  readonly apiKey: string;
  readonly password: string;
}

const MINUTE_MS = 60_000;

const file = (dataDir: string) => join(dataDir, 'demo.json');

/** The file with the demo credentials is damaged. */
export class DemoFileError extends OperatorError {}

function readCredentials(dataDir: string): DemoCredentials | undefined {
  if (!existsSync(file(dataDir))) return undefined;
  try {
    return JSON.parse(readFileSync(file(dataDir), 'utf8')) as DemoCredentials;
  } catch (error) {
    throw new DemoFileError(
      `The file "${file(dataDir)}" with the demo credentials cannot be read: remove it, and the next start writes a new one.`,
      { cause: error },
    );
  }
}

/** Writes the file atomically, readable only by its owner. */
function writeCredentials(dataDir: string, credentials: DemoCredentials): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const draft = `${file(dataDir)}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 });
  renameSync(draft, file(dataDir));
}

async function seedUsers(prisma: PrismaClient, password: string): Promise<Map<DemoName, string>> {
  const ids = new Map<DemoName, string>();
  for (const { name, email } of DEMO_USERS)
    ids.set(name, (await createAccount(prisma, { name, email, password })).id);
  return ids;
}

async function seedPosts(
  prisma: PrismaClient,
  ids: ReadonlyMap<DemoName, string>,
  nowMs: number,
): Promise<void> {
  for (const { author, title, body, tags, minutesAgo, comments } of DEMO_POSTS) {
    const createdAt = new Date(nowMs - minutesAgo * MINUTE_MS);
    const authorOf = (name: DemoName) => ids.get(name) ?? '';
    await prisma.post.create({
      data: {
        id: newId(),
        title,
        body,
        createdAt,
        authorId: authorOf(author),
        tags: { createMany: { data: tags.map((name, index) => ({ name, position: index + 1, createdAt })) } },
        comments: {
          createMany: {
            data: comments.map(([name, text], index) => ({
              id: newId(),
              body: text,
              authorId: authorOf(name),
              createdAt: new Date(createdAt.getTime() + (index + 1) * MINUTE_MS),
            })),
          },
        },
      },
    });
  }
}

/** Marks the database itself for `refuseSeeded`, so that copies are recognised too. */
async function markSeeded(prisma: PrismaClient): Promise<void> {
  await prisma.demoSeed.createMany({ data: [{ id: 1 }], skipDuplicates: true });
}

async function isUsable(prisma: PrismaClient, apiKey: string): Promise<boolean> {
  const found = await prisma.apiKey.findFirst({
    where: { hash: hashApiKey(apiKey), revokedAt: null, user: { disabledAt: null } },
    select: { id: true },
  });
  return found !== null;
}

async function issueCredentials(
  prisma: PrismaClient,
  password: string,
  adaId: string,
): Promise<DemoCredentials> {
  const { key } = await createApiKey(prisma, { userId: adaId, name: 'Demo', scopes: scopesOfRole('member') });
  return { apiKey: key, password };
}

/** The database holds demo accounts from development. */
export class SeededError extends OperatorError {
  constructor(dataDir: string) {
    super(
      `The embedded database in "${dataDir}" was seeded by development: it holds demo accounts whose credentials were printed and written to a file. Production refuses it: set DATA_DIR to another folder.`,
    );
  }
}

/**
 * Throws SeededError if development has seeded the folder, or a database that was later copied or renamed.
 */
export async function refuseSeeded(prisma: PrismaClient, dataDir: string): Promise<void> {
  if (existsSync(file(dataDir)) || (await prisma.demoSeed.count()) > 0) throw new SeededError(dataDir);
}

/**
 * Seeds an empty database for development and returns the demo credentials. Issues new credentials if the
 * file is lost or its key is no longer valid, which also covers an earlier start that crashed. Undefined if
 * the database holds other accounts but no demo.
 */
export async function prepareDemo(
  prisma: PrismaClient,
  dataDir: string,
  nowMs: number,
): Promise<DemoCredentials | undefined> {
  const known = readCredentials(dataDir);
  if (known !== undefined && (await isUsable(prisma, known.apiKey))) {
    await markSeeded(prisma);
    return known;
  }
  const password = randomBytes(12).toString('base64url');
  const credentials = await prisma.$transaction(
    async (tx) => {
      const client = tx as PrismaClient;
      // In the same transaction as the credentials.
      const issue = async (adaId: string) => {
        await markSeeded(client);
        return issueCredentials(client, password, adaId);
      };
      if ((await client.user.count()) === 0) {
        const ids = await seedUsers(client, password);
        await seedPosts(client, ids, nowMs);
        return issue(ids.get('Ada') ?? '');
      }
      const emails = DEMO_USERS.map(({ email }) => emailKey(email));
      const ada = await client.user.findFirst({
        where: { emailKey: emailKey(DEMO_USERS[0].email), disabledAt: null },
        select: { id: true },
      });
      if (ada === null) return undefined;
      await client.user.updateMany({
        where: { emailKey: { in: emails } },
        data: { passwordHash: await hashPassword(password) },
      });
      return issue(ada.id);
    },
    { timeout: 60_000 },
  );
  if (credentials !== undefined) writeCredentials(dataDir, credentials);
  return credentials;
}
