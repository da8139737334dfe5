import { emailKey } from '../../src/auth/account/store.ts';
import { createApiKey } from '../../src/auth/api-key/store.ts';
import { scopesOfRole } from '../../src/auth/scopes.ts';
import { DEMO_POSTS, DEMO_USERS, type DemoName } from '../../src/demo/data.ts';
import type { PrismaClient } from '../../src/generated/prisma/client.ts';

/** The ids of the example data end in zeros and a number. */
export const FIXED_ID = /^01a1f0c0-5e00-7000-8000-0000000000\d\d$/;
const fixedId = (number: number): string => `01a1f0c0-5e00-7000-8000-${String(number).padStart(12, '0')}`;

const NOW_MS = Date.UTC(2026, 10, 21, 12);
const MINUTE_MS = 60_000;
const FIRST_USER = 1;
const FIRST_POST = 11;
const FIRST_COMMENT = 21;

export interface ExampleData {
  /** A key of Ada with every scope that a member can hold. */
  readonly key: string;
  /** The instants in the data, as the service prints them. */
  readonly instants: ReadonlySet<string>;
}

const userId = (name: DemoName): string =>
  fixedId(FIRST_USER + DEMO_USERS.findIndex((user) => user.name === name));

/** Adds the demo data to an empty database, with ids and instants that are the same each time. */
export async function addExampleData(prisma: PrismaClient): Promise<ExampleData> {
  const instants = new Set<string>();
  const at = (ms: number): Date => {
    const instant = new Date(ms);
    instants.add(instant.toISOString());
    return instant;
  };
  const users = DEMO_USERS.map(({ name, email }, index) => ({
    id: userId(name),
    name,
    email,
    emailKey: emailKey(email),
    createdAt: at(NOW_MS - (10_000 - index) * MINUTE_MS),
  }));
  await prisma.user.createMany({ data: users });
  let comments = 0;
  for (const [number, { author, title, body, tags, minutesAgo, comments: texts }] of DEMO_POSTS.entries()) {
    const id = fixedId(FIRST_POST + number);
    const writtenMs = NOW_MS - minutesAgo * MINUTE_MS;
    const createdAt = at(writtenMs);
    await prisma.post.create({ data: { id, title, body, authorId: userId(author), createdAt } });
    await prisma.tag.createMany({
      data: tags.map((name, index) => ({ postId: id, name, position: index + 1, createdAt })),
    });
    for (const [index, [name, text]] of texts.entries()) {
      await prisma.comment.create({
        data: {
          id: fixedId(FIRST_COMMENT + comments),
          body: text,
          postId: id,
          authorId: userId(name),
          createdAt: at(writtenMs + (index + 1) * MINUTE_MS),
        },
      });
      comments += 1;
    }
  }
  const { key } = await createApiKey(prisma, {
    userId: userId('Ada'),
    name: 'examples',
    scopes: scopesOfRole('member'),
  });
  return { key, instants };
}
