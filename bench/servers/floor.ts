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

/** With events: reading a body by `for await` costs as much as all the rest of a request without a statement. */
function receive(incoming: IncomingMessage, onBody: (body: Body) => void): void {
  const parts: Buffer[] = [];
  incoming.on('data', (part: Buffer) => parts.push(part));
  incoming.on('end', () => {
    const whole = parts.length === 1 ? parts[0] : Buffer.concat(parts);
    onBody(JSON.parse(String(whole)) as Body);
  });
}

function send(outgoing: ServerResponse, json: string): void {
  outgoing.writeHead(200, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(json),
  });
  outgoing.end(json);
}

const server = createServer((incoming, outgoing) => {
  receive(incoming, (body) => {
    const found = ANSWERS[incoming.url ?? ''];
    if (found === undefined) return send(outgoing, '{"data":{"__typename":"Query"}}');
    const { name, text, values } = found;
    pool.query<{ json: string }>({ name, text, values: values(body) }).then(
      ({ rows }) => send(outgoing, rows[0]?.json ?? ''),
      (error: unknown) => {
        process.stderr.write(`${String(error)}\n`);
        outgoing.writeHead(500).end();
      },
    );
  });
});
await serve({ server, close: () => pool.end() });
