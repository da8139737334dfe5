import { emailKey } from '../../src/auth/accounts.ts';
import { createApiKey } from '../../src/auth/api-keys.ts';
import { scopesOfRole } from '../../src/auth/scopes.ts';
import { type Queryable, statement } from '../../src/database/statement.ts';
import { ADD_DRAFT, DEMO_DRAFT, DEMO_POSTS, DEMO_USERS } from '../../src/features/development/demo-data.ts';

/** The ids of the example data end in zeros and a number. */
export const FIXED_ID = /^01a1f0c0-5e00-7000-8000-0000000000\d\d$/;
const fixedId = (number: number): string => `01a1f0c0-5e00-7000-8000-${String(number).padStart(12, '0')}`;

const NOW_MS = Date.UTC(2026, 10, 21, 12);
const MINUTE_MS = 60_000;
const FIRST_USER = 1;
const FIRST_POST = 11;
const FIRST_COMMENT = 21;
const DRAFT = 41;

export interface ExampleData {
  /** A key of Ada with every scope that a member can hold. */
  readonly key: string;
  /** The instants in the data, as the service prints them. */
  readonly instants: ReadonlySet<string>;
}

const userId = (name: string): string =>
  fixedId(FIRST_USER + DEMO_USERS.findIndex((user) => user.name === name));

const ADD_USER = statement<never>(
  'example_user',
  'INSERT INTO users (id, name, email, email_key, created_at, handle, bio) VALUES ($1, $2, $3, $4, $5, $6, $7)',
);
const ADD_POST = statement<never>(
  'example_post',
  'INSERT INTO posts (id, title, body, author_id, created_at) VALUES ($1, $2, $3, $4, $5)',
);
const ADD_TAG = statement<never>(
  'example_tag',
  'INSERT INTO tags (post_id, name, position, created_at) VALUES ($1, $2, $3, $4)',
);
const ADD_COMMENT = statement<never>(
  'example_comment',
  'INSERT INTO comments (id, body, post_id, author_id, created_at) VALUES ($1, $2, $3, $4, $5)',
);

/** Adds the demo data to an empty database, with ids and instants that are the same each time. */
export async function addExampleData(db: Queryable): Promise<ExampleData> {
  const instants = new Set<string>();
  const at = (ms: number): Date => {
    const instant = new Date(ms);
    instants.add(instant.toISOString());
    return instant;
  };
  for (const [index, { name, email, handle, bio }] of DEMO_USERS.entries()) {
    const createdAt = at(NOW_MS - (10_000 - index) * MINUTE_MS);
    await db.query(ADD_USER, [userId(name), name, email, emailKey(email), createdAt, handle, bio]);
  }
  let comments = 0;
  for (const [number, { author, title, body, tags, minutesAgo, comments: texts }] of DEMO_POSTS.entries()) {
    const id = fixedId(FIRST_POST + number);
    const writtenMs = NOW_MS - minutesAgo * MINUTE_MS;
    const createdAt = at(writtenMs);
    await db.query(ADD_POST, [id, title, body, userId(author), createdAt]);
    for (const [index, name] of tags.entries()) await db.query(ADD_TAG, [id, name, index + 1, createdAt]);
    for (const [index, { author: by, body: text }] of texts.entries()) {
      const commentedAt = at(writtenMs + (index + 1) * MINUTE_MS);
      await db.query(ADD_COMMENT, [fixedId(FIRST_COMMENT + comments), text, id, userId(by), commentedAt]);
      comments += 1;
    }
  }
  const { author, title, body, tags } = DEMO_DRAFT;
  await db.query(ADD_DRAFT, [fixedId(DRAFT), title, body, tags, userId(author)]);
  const { key } = await createApiKey(db, {
    userId: userId('Ada'),
    name: 'examples',
    scopes: scopesOfRole('member'),
  });
  return { key, instants };
}
