/**
 * Mercurius with its JIT and its loaders on `pg` with named statements, which select only the columns that the
 * workloads ask for. No authentication, no limits, no log.
 */
import Fastify from 'fastify';
import mercurius, { type Loader } from 'mercurius';
import pg from 'pg';
import { given, POOL_SIZE, serve } from './child.ts';

const SCHEMA = `
  type User { id: ID! name: String! posts(limit: Int = 20): [Post!]! }
  type Post { id: ID! title: String! author: User! commentCount: Int! }
  type Query { user(id: ID!): User posts(limit: Int = 20): [Post!]! }
  type Mutation { createPost(title: String!, body: String!): Post! }
`;

interface UserRow {
  readonly id: string;
  readonly name: string;
}

interface PostRow {
  readonly id: string;
  readonly title: string;
  readonly authorId: string;
  readonly commentCount: number;
}

const POST = 'id, title, author_id AS "authorId", comment_count AS "commentCount"';
const FIND_USER = 'SELECT id, name FROM users WHERE id = $1';
const FIND_USERS = 'SELECT id, name FROM users WHERE id = ANY($1::uuid[])';
const LIST_POSTS = `SELECT ${POST} FROM posts ORDER BY created_at DESC, id DESC LIMIT $1`;
const LIST_POSTS_OF = `SELECT p.* FROM unnest($1::uuid[]) AS a(id), LATERAL (
    SELECT ${POST} FROM posts WHERE author_id = a.id ORDER BY created_at DESC, id DESC LIMIT $2) p`;
const INSERT_POST = `INSERT INTO posts (author_id, title, body) VALUES ($1, $2, $3) RETURNING ${POST}`;

const pool = new pg.Pool({ connectionString: given('DATABASE_URL'), max: POOL_SIZE });
const authorId = given('AUTHOR_ID');

async function rows<Row extends pg.QueryResultRow>(
  name: string,
  text: string,
  values: unknown[],
): Promise<Row[]> {
  return (await pool.query<Row>({ name, text, values })).rows;
}

const author: Loader<PostRow> = async (queries) => {
  const ids = [...new Set(queries.map(({ obj }) => obj.authorId))];
  const found = await rows<UserRow>('users', FIND_USERS, [ids]);
  const byId = new Map(found.map((user) => [user.id, user]));
  return queries.map(({ obj }) => byId.get(obj.authorId));
};

/** Items of one field share their arguments unless the operation has the field twice: then each limit is a statement. */
const postsOf: Loader<UserRow, { limit: number }> = async (queries) => {
  const lists = new Map<string, PostRow[]>();
  for (const limit of new Set(queries.map(({ params }) => params.limit))) {
    const ids = new Set(queries.filter(({ params }) => params.limit === limit).map(({ obj }) => obj.id));
    for (const id of ids) lists.set(`${id} ${limit}`, []);
    for (const post of await rows<PostRow>('posts_of', LIST_POSTS_OF, [[...ids], limit]))
      lists.get(`${post.authorId} ${limit}`)?.push(post);
  }
  return queries.map(({ obj, params }) => lists.get(`${obj.id} ${params.limit}`));
};

const app = Fastify({ logger: false });
await app.register(mercurius, {
  schema: SCHEMA,
  jit: 1,
  graphiql: false,
  resolvers: {
    Query: {
      user: async (_: unknown, { id }: { id: string }) => (await rows<UserRow>('user', FIND_USER, [id]))[0],
      posts: (_: unknown, { limit }: { limit: number }) => rows<PostRow>('posts', LIST_POSTS, [limit]),
    },
    Mutation: {
      createPost: async (_: unknown, { title, body }: { title: string; body: string }) =>
        (await rows<PostRow>('insert', INSERT_POST, [authorId, title, body]))[0],
    },
  },
  loaders: { Post: { author }, User: { posts: postsOf } },
});
await app.ready();
// Fastify has made its server but not called listen on it: the bench's own does, as for all the others.
await serve({
  server: app.server,
  async close() {
    await app.close();
    await pool.end();
  },
});
