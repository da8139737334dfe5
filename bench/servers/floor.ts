/**
 * The floor: what Node's HTTP server, `pg` and PostgreSQL cost with nothing around them. One hand-written statement a
 * request, named, that returns the JSON as it goes out, in the form that cost PostgreSQL least of those tried. No GraphQL, no authentication, no limits, no log.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import pg from 'pg';
import { given, POOL_SIZE, serve } from './child.ts';

interface Body {
  readonly id: string;
  readonly authorId: string;
  readonly title: string;
  readonly body: string;
}

interface Answer {
  readonly name: string;
  readonly text: string;
  readonly values: (body: Body) => unknown[];
}

const ANSWERS: Readonly<Record<string, Answer>> = {
  '/W1': {
    name: 'w1',
    text: `SELECT '{"data":{"user":' || coalesce((SELECT row_to_json(a)::text FROM (
        SELECT name, (SELECT coalesce(json_agg(p), '[]') FROM (
          SELECT title, comment_count AS "commentCount" FROM posts WHERE author_id = u.id
          ORDER BY created_at DESC, id DESC LIMIT 10) p) AS posts
        FROM users u WHERE id = $1) a), 'null') || '}}' AS json`,
    values: ({ id }) => [id],
  },
  '/W2': {
    name: 'w2',
    text: `SELECT '{"data":{"posts":' || coalesce(json_agg(p)::text, '[]') || '}}' AS json FROM (
        SELECT id, title, (
          SELECT row_to_json(u) FROM (SELECT name FROM users WHERE id = posts.author_id) u) AS author
        FROM posts ORDER BY created_at DESC, id DESC LIMIT 20) p`,
    values: () => [],
  },
  '/W3': {
    name: 'w3',
    text: `SELECT '{"data":{"posts":' || coalesce(json_agg(p)::text, '[]') || '}}' AS json FROM (
        SELECT title, (SELECT row_to_json(a) FROM (
          SELECT name, (SELECT coalesce(json_agg(q), '[]') FROM (
            SELECT title, comment_count AS "commentCount" FROM posts WHERE author_id = u.id
            ORDER BY created_at DESC, id DESC LIMIT 5) q) AS posts
          FROM users u WHERE id = posts.author_id) a) AS author
        FROM posts ORDER BY created_at DESC, id DESC LIMIT 20) p`,
    values: () => [],
  },
  '/W4': {
    name: 'w4',
    text: `INSERT INTO posts (author_id, title, body) VALUES ($1, $2, $3)
      RETURNING json_build_object('data', json_build_object('createPost', json_build_object('id', id, 'title', title)))::text AS json`,
    values: ({ authorId, title, body }) => [authorId, title, body],
  },
};

const pool = new pg.Pool({ connectionString: given('DATABASE_URL'), max: POOL_SIZE });

async function read(incoming: IncomingMessage): Promise<Body> {
  let text = '';
  incoming.setEncoding('utf8');
  for await (const part of incoming) text += part;
  return JSON.parse(text) as Body;
}

async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const body = await read(incoming);
  const found = ANSWERS[incoming.url ?? ''];
  let json = '{"data":{"__typename":"Query"}}';
  if (found !== undefined) {
    const { name, text, values } = found;
    const { rows } = await pool.query<{ json: string }>({ name, text, values: values(body) });
    json = rows[0]?.json ?? '';
  }
  outgoing.writeHead(200, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(json),
  });
  outgoing.end(json);
}

const server = createServer((incoming, outgoing) => {
  answer(incoming, outgoing).catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    outgoing.writeHead(500).end();
  });
});
await serve({ server, close: () => pool.end() });
