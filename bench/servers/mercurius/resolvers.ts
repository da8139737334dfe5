import type { MercuriusContext } from 'mercurius';
import { given } from '../child.ts';
import { freeSlug, slugsFor } from '../slug.ts';
import { type DatedPostRow, type PostRow, rows, type UserRow } from './database.ts';
import { createOnce } from './keyed.ts';
import { connectionOf, decodeCursor, type PageArguments } from './pagination.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The account that the API key belongs to; undefined where keys are not looked at. */
    accountId?: string;
  }
}

/** The columns that the workloads ask for. */
const POST = 'id, title, author_id AS "authorId", comment_count AS "commentCount"';
const DATED_POST = `${POST}, created_at AS "createdAt"`;
const FIND_USER = 'SELECT id, name FROM users WHERE id = $1';
const LIST_POSTS = `SELECT ${POST} FROM posts ORDER BY created_at DESC, id DESC LIMIT $1`;
const FIRST_POSTS = `SELECT ${DATED_POST} FROM posts ORDER BY created_at DESC, id DESC LIMIT $1`;
const POSTS_AFTER = `SELECT ${DATED_POST} FROM posts WHERE (created_at, id) < ($2, $3)
  ORDER BY created_at DESC, id DESC LIMIT $1`;
const INSERT_POST = `INSERT INTO posts (author_id, title, body, slug) VALUES ($1, $2, $3, ${freeSlug('$4')})
  RETURNING ${POST}`;

const authorId = given('AUTHOR_ID');
/** Without a look at keys, everybody is the author. */
const callerOf = ({ reply: { request } }: MercuriusContext) => request.accountId ?? authorId;

async function findUser(id: string): Promise<UserRow | undefined> {
  return (await rows<UserRow>('user', FIND_USER, [id]))[0];
}

function posts({ first, after }: PageArguments): Promise<DatedPostRow[]> {
  return after == null
    ? rows('first_posts', FIRST_POSTS, [first + 1])
    : rows('posts_after', POSTS_AFTER, [first + 1, ...decodeCursor(after)]);
}

export const resolvers = {
  Query: {
    viewer: (_: unknown, __: unknown, context: MercuriusContext) => findUser(callerOf(context)),
    user: (_: unknown, { id }: { id: string }) => findUser(id),
    posts: (_: unknown, { limit }: { limit: number }) => rows<PostRow>('posts', LIST_POSTS, [limit]),
    postsConnection: async (_: unknown, page: PageArguments) => connectionOf(await posts(page), page.first),
  },
  Mutation: {
    async createPost(
      _: unknown,
      { title, body }: { title: string; body: string },
      context: MercuriusContext,
    ) {
      const key = context.reply.request.headers['idempotency-key'];
      if (typeof key === 'string') return createOnce({ authorId: callerOf(context), key, title, body });
      const values = [callerOf(context), title, body, slugsFor(title)];
      return (await rows<PostRow>('insert', INSERT_POST, values))[0];
    },
  },
  Post: { createdAt: ({ createdAt }: DatedPostRow) => createdAt.toISOString() },
};
