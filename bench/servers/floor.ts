/**
 * The floor: what Node's HTTP server, `pg` and PostgreSQL cost with nothing around them. One hand-written statement a
 * request, named, that returns the JSON as it goes out. No GraphQL, no authentication, no limits, no log.
 */
import { hash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import pg from 'pg';
import { given, POOL_SIZE, serve } from './child.ts';
import { compress, forBrowsers } from './floor/browser.ts';
import { type Body, KEYED, RESPONSES, type ResponseData, STORED } from './floor/statements.ts';

/** As the service has them: a bitmap of a few rows costs more than the index that has them in order. */
const PLANNING = '-c jit=off -c enable_bitmapscan=off';

const pool = new pg.Pool({ connectionString: given('DATABASE_URL'), max: POOL_SIZE, options: PLANNING });

/** With events: reading a body by `for await` costs as much as all the rest of a request without a statement. */
function receive(incoming: IncomingMessage, onBody: (body: Body) => void): void {
  const parts: Buffer[] = [];
  incoming.on('data', (part: Buffer) => parts.push(part));
  incoming.on('end', () => {
    const whole = parts.length === 1 ? parts[0] : Buffer.concat(parts);
    onBody(JSON.parse(String(whole)) as Body);
  });
}

function send({ headers }: IncomingMessage, outgoing: ServerResponse, json: string): void {
  const fields = forBrowsers(headers);
  const compressed = compress(headers, json);
  if (compressed !== undefined) fields['content-encoding'] = 'br';
  outgoing.writeHead(200, {
    ...fields,
    'content-type': 'application/json; charset=utf-8',
    'content-length': compressed?.length ?? Buffer.byteLength(json),
  });
  outgoing.end(compressed ?? json);
}

async function ask({ name, text }: ResponseData, values: unknown[]): Promise<string | undefined> {
  const { rows } = await pool.query<{ json: string }>({ name, text, values });
  return rows[0]?.json;
}

/** A post under a key: written once, told as often as it is asked for. */
async function create(body: Body, key: string): Promise<string | undefined> {
  const keyHash = hash('sha256', key, 'buffer');
  const fingerprint = hash('sha256', `${body.title}\0${body.body}`, 'buffer');
  return (
    (await ask(KEYED, [...KEYED.values(body), keyHash, fingerprint])) ??
    (await ask(STORED, [...STORED.values(body), keyHash, fingerprint]))
  );
}

function find({ url = '', headers }: IncomingMessage, body: Body): Promise<string | undefined> | undefined {
  const key = headers['idempotency-key'];
  if (typeof key === 'string') return create(body, key);
  const query = url.indexOf('?');
  const response = RESPONSES[query === -1 ? url : url.slice(0, query)];
  return response && ask(response, response.values(body));
}

const server = createServer((incoming, outgoing) => {
  receive(incoming, (body) => {
    const found = find(incoming, body);
    if (found === undefined) return send(incoming, outgoing, '{"data":{"__typename":"Query"}}');
    found.then(
      (json) =>
        send(incoming, outgoing, json ?? '{"errors":[{"message":"the key was used for another post"}]}'),
      (error: unknown) => {
        process.stderr.write(`${String(error)}\n`);
        outgoing.writeHead(500).end();
      },
    );
  });
});
await serve({ server, close: () => pool.end() });
