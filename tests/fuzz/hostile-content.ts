import { randomBytes } from 'node:crypto';
import { newId } from '../../src/platform/ids.ts';
import type { Account, TestApp } from '../support/app.ts';
import { past, seedComments, seedPosts } from '../support/content.ts';

/** Texts that something on the way from the table to the client may take for something else. */
export const HOSTILE_TEXTS: readonly string[] = [
  'plain',
  'Über "quotes" and \\backslashes\\',
  'a\nb\r\nc\rd',
  'a\tb\u0001\u001f\u007fc',
  'line\u2028separator\u2029end',
  '🐧 👩‍👩‍👧 \u{10ffff}',
  "'; DROP TABLE posts; -- $1 %s {0}",
  '{"data":null}\n\nevent: complete\ndata: x',
  '\\u0041 \\n \\" """ block """',
  '\ufeff\u200b \u00a0 e\u0301 é',
  '<script>alert(1)</script>&amp;',
  '__proto__',
  'null',
  '東京都2020 東京 Tower',
];

export const HOSTILE_TAGS: readonly string[] = [
  'x',
  'X',
  'y "z"',
  ' x',
  '\n',
  '\\',
  '__proto__',
  '🐧',
  '{a,b}',
  'NULL',
  '%',
  'n'.repeat(50),
];

const nth = <T>(items: readonly T[], index: number): T => items[index % items.length] as T;

export interface Content {
  readonly postIds: readonly string[];
  readonly commentIds: readonly string[];
  /** Instants of posts, between them, before and after all of them. */
  readonly instants: readonly string[];
}

export const HANDLES: readonly string[] = ['ada', '1st_', 'x'.repeat(30), 'none', '123'];

/** Profiles with the first of the handles. */
export async function seedProfiles(app: TestApp, accounts: readonly Account[]): Promise<void> {
  for (const [index, { id }] of accounts.entries()) {
    const url = `https://example.com/${encodeURIComponent(nth(HOSTILE_TEXTS, index + 1))}?a="<&>`;
    await app.prisma.user.update({
      where: { id },
      data: { handle: nth(HANDLES, index), bio: nth(HOSTILE_TEXTS, index + 2), avatarUrl: url },
      select: { id: true },
    });
  }
}

/** An account that is disabled: what it wrote stays. */
export async function disable(app: TestApp, { id }: Account): Promise<void> {
  await app.prisma.user.update({
    where: { id },
    data: { disabledAt: new Date() },
    select: { id: true },
  });
}

/**
 * Live keys beside those that the account has, and as many more as make a list of them too long: some that have expired,
 * and some that were revoked. Nobody knows the keys themselves. The ids of a few of the live ones.
 */
export async function seedKeys(
  app: TestApp,
  { id: userId }: Pick<Account, 'id'>,
  live: number,
): Promise<readonly string[]> {
  const data = Array.from({ length: live + 6 }, (_, index) => ({
    id: newId(),
    userId,
    name: nth(HOSTILE_TEXTS, index),
    prefix: `cga_${index}`,
    hash: randomBytes(32),
    scopes: ['posts:read'],
    createdAt: past(index),
    expiresAt: index >= live ? past(index) : null,
    revokedAt: index >= live + 3 ? past(index) : null,
  }));
  await app.prisma.apiKey.createMany({ data });
  return data.slice(0, 3).map(({ id }) => id);
}

/** Drafts that are complete, empty, or as long as they may be, two to a millisecond. */
export async function seedDrafts(app: TestApp, authors: readonly Account[]): Promise<readonly string[]> {
  const data = Array.from({ length: 12 }, (_, index) => ({
    id: newId(),
    authorId: nth(authors, index).id,
    title: index % 5 === 1 ? '' : nth(HOSTILE_TEXTS, index).slice(0, 200),
    body: index % 5 === 2 ? '' : nth(HOSTILE_TEXTS, index + 3),
    tags: Array.from({ length: index % 3 }, (_, place) => nth(HOSTILE_TAGS, index + place * 5)),
    slug: index % 4 === 3 ? `draft-${index}` : null,
    createdAt: past(index),
    updatedAt: past(100 - Math.floor(index / 2)),
  }));
  await app.prisma.draft.createMany({ data });
  return data.map(({ id }) => id);
}

/** More posts than a page has by default, three to a millisecond, with comments of all authors on some of them. */
export async function seedContent(app: TestApp, authors: readonly Account[]): Promise<Content> {
  const posts = Array.from({ length: 27 }, (_, index) => ({
    authorId: nth(authors, index).id,
    createdAt: past(Math.floor(index / 3) * 7),
    title: nth(HOSTILE_TEXTS, index),
    body: index === 5 ? '🐧"\n'.repeat(2_000) : nth(HOSTILE_TEXTS, index * 5 + 1),
    tags: Array.from({ length: index % 4 }, (_, place) => nth(HOSTILE_TAGS, index + place * 5)),
  }));
  const postIds = await seedPosts(app, posts);
  const comments = postIds.slice(0, 9).flatMap((postId, index) =>
    Array.from({ length: index === 5 ? 23 : index % 4 }, (_, place) => ({
      postId,
      authorId: nth(authors, place).id,
      createdAt: past(1_000 + Math.floor(place / 2)),
      body: nth(HOSTILE_TEXTS, index + place),
    })),
  );
  const commentIds = await seedComments(app, comments);
  const instants = [past(7), past(8), past(-1), past(100_000)].map((instant) => instant.toISOString());
  return { postIds, commentIds, instants: [...instants, '2020-01-01T05:30:00.0149999+05:30'] };
}
