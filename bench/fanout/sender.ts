import type { Client } from 'pg';
import { postRequest } from '../harness/connection.ts';
import { machineMs } from '../harness/machine-time.ts';
import { within } from '../harness/within.ts';
import { NEW_POST } from '../workloads/requests.ts';
import { openLine } from './line.ts';
import type { Emission } from './messages.ts';

/** Makes events. Resolves to when they were known to be committed, in the machine's time. */
export interface Sender {
  one(): Promise<number>;
  /** So many at once. */
  burst(events: number): Promise<number>;
  close(): void;
}

const WRITE_LIMIT_MS = 30_000;

/** One statement, and so one transaction: as if another instance of the service had written them. */
const INSERT = `WITH post AS (
    INSERT INTO posts (title, body, author_id) SELECT $1, $2, $3 FROM generate_series(1, $4::int) RETURNING id, author_id)
  INSERT INTO events (kind, root_id, owner_id) SELECT 'POST_CREATED', id, author_id FROM post`;
const NOTIFY = 'NOTIFY content_graph_events';

/** Whose posts are written, and where. */
export interface Author {
  readonly admin: Client;
  readonly authorId: string;
}

async function write({ admin, authorId }: Author, events: number): Promise<number> {
  await admin.query(INSERT, [NEW_POST.title, NEW_POST.body, authorId, events]);
  const knownMs = machineMs();
  await admin.query(NOTIFY);
  return knownMs;
}

/** Writes to the database, past the service that is measured. */
export function directSender(author: Author): Sender {
  const burst = (events: number) =>
    within(WRITE_LIMIT_MS, () => `${events} posts are not written`, write(author, events));
  return { one: () => burst(1), burst, close: () => undefined };
}

export interface PostOptions extends Author {
  readonly port: number;
  readonly key: string;
  readonly body?: string;
}

/** Single events by a mutation of a client with a key, bursts past the service: a mutation cannot write so many. */
export async function postSender({
  port,
  key,
  body = NEW_POST.body,
  ...author
}: PostOptions): Promise<Sender> {
  const line = await openLine(port);
  const query = 'mutation($title: String!, $body: String!) { createPost(title: $title, body: $body) { id } }';
  const request = postRequest(
    '/graphql',
    { query, variables: { ...NEW_POST, body } },
    { authorization: `Bearer ${key}` },
  );
  const { burst } = directSender(author);
  return { one: () => line.ask(request), burst, close: line.close };
}

/** Has a server without a database emit. */
export async function emitSender(port: number, frame: string, together: boolean): Promise<Sender> {
  const line = await openLine(port);
  const emit = (events: number) =>
    line.ask(postRequest('/emit', { frame, events, together } satisfies Emission, {}));
  return { one: () => emit(1), burst: emit, close: line.close };
}
