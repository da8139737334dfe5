import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { PRODUCT } from '../contestants.ts';
import { getRequest, postRequest } from '../harness/connection.ts';
import { once } from '../harness/load.ts';
import type { ServerProcess } from '../harness/server-process.ts';
import { figure, table } from '../report/markdown.ts';
import { progress } from '../report/results.ts';
import { idle } from './deliver.ts';
import { type Part, people, type RunPart } from './part.ts';
import { type Scene, start } from './scene.ts';

const QUERY = 'subscription ($post: ID) { changes(post: $post) { kind postId post { title version } } }';
const EVENTS = 300;
const QUICK_EVENTS = 50;
const PER_SECOND = 50;
const IDLE_MS = 4_000;
const REHEARSAL = 500;
const METRICS = getRequest('/metrics', {});
const INSERT = `INSERT INTO events (kind, root_id, owner_id) VALUES ('POST_UPDATED', $1, $2)`;
const NOTIFY = 'NOTIFY content_graph_events';
const LIMIT_MS = 60_000;
const KB = 1024;

/** Where an event asks for its readers does not depend on how many there are. */
const MOST_TIMES = 3;
const MOST_STATEMENTS = 5;
const MOST_TO_OPEN = 2;

async function sent(port: number): Promise<number> {
  const { text } = await once(port, METRICS);
  return Number(/^content_graph_events_sent_total (\d+)/m.exec(text)?.[1] ?? Number.NaN);
}

/** A stream that follows a post. */
export const followRequest = (post: string, key: string, headers: Readonly<Record<string, string>> = {}) =>
  postRequest(
    '/graphql',
    { query: QUERY, variables: { post } },
    { accept: 'text/event-stream', authorization: `Bearer ${key}`, ...headers },
  );

/** Streams that follow these posts, in turn, of many accounts. */
const requestsFor = (posts: readonly string[], keys: readonly string[]): Buffer[] =>
  Array.from({ length: Math.max(posts.length, keys.length) }, (_, index) =>
    followRequest(posts[index % posts.length] ?? '', keys[index % keys.length] ?? ''),
  );

interface Measured {
  readonly openMs: number;
  readonly heapBytes: number;
  readonly cpuMsAnEvent: number;
  readonly statementsAnEvent: number;
}

/** Changes of followed posts, each of which one stream hears of. */
async function change({ workspace, quick }: Scene, server: ServerProcess, posts: readonly string[]) {
  const events = quick ? QUICK_EVENTS : EVENTS;
  const spent = await idle(server, IDLE_MS);
  const already = await sent(server.port);
  const [before, startMs] = [await server.usage(), performance.now()];
  for (let event = 0; event < events; event += 1) {
    await workspace.admin.query(INSERT, [posts[(event * 7_919) % posts.length], workspace.authorId]);
    await workspace.admin.query(NOTIFY);
    await delay(1000 / PER_SECOND);
  }
  while ((await sent(server.port)) < already + events)
    if (performance.now() - startMs > LIMIT_MS)
      throw new Error(`some changes were not sent: ${await sent(server.port)} after ${already} of ${events}`);
    else await delay(20);
  const [after, elapsedMs] = [await server.usage(), performance.now() - startMs];
  return {
    cpuMsAnEvent: (after.cpuMs - before.cpuMs - spent.cpuMs * elapsedMs) / events,
    statementsAnEvent: (after.statements - before.statements - spent.statements * elapsedMs) / events,
  };
}

/** Opens streams, and changes what they follow. `posts` are as many as there are streams, or one for all. */
async function measure(
  scene: Scene,
  server: ServerProcess,
  subscribers: number,
  posts: readonly string[],
): Promise<Measured> {
  const { crowd, keys } = scene;
  const { port } = server;
  const before = await server.memory();
  // More than any of them gets: which of them hears of what is not looked at here.
  await crowd.expect(subscribers, 2 * EVENTS);
  const { elapsedMs: openMs } = await crowd.connect({
    port,
    subscribers,
    requests: requestsFor(posts, subscribers === 1 ? keys.slice(0, 1) : keys),
  });
  const after = await server.memory();
  const alone = posts.length === 1 && subscribers > 1;
  const cost = alone
    ? { cpuMsAnEvent: Number.NaN, statementsAnEvent: Number.NaN }
    : await change(scene, server, posts);
  await crowd.disconnect();
  await delay(1_000);
  return { openMs, heapBytes: (after.heapBytes - before.heapBytes) / subscribers, ...cost };
}

/** Streams that each follow another post. */
export const filters: RunPart = async (scene, cleanup): Promise<Part> => {
  const { server } = await start(cleanup, scene, PRODUCT, ['--expose-gc']);
  const { many } = scene;
  const { rows } = await scene.workspace.admin.query<{ id: string }>('SELECT id FROM posts LIMIT $1', [many]);
  const known = rows.map(({ id }) => id);
  const posts = [...known, ...Array.from({ length: many - known.length }, () => randomUUID())];
  const [first = ''] = posts;
  await measure(scene, server, REHEARSAL, posts.slice(0, REHEARSAL));
  const one = await measure(scene, server, 1, [first]);
  const equal = await measure(scene, server, many, [first]);
  const different = await measure(scene, server, many, posts);
  const row = (name: string, { openMs, heapBytes, cpuMsAnEvent, statementsAnEvent }: Measured) => [
    name,
    figure(openMs),
    figure(heapBytes / KB),
    Number.isNaN(cpuMsAnEvent) ? '' : figure(cpuMsAnEvent * 1000),
    Number.isNaN(statementsAnEvent) ? '' : figure(statementsAnEvent),
  ];
  const lines = [
    row('one', one),
    row(`${people(many)}, all of one post`, equal),
    row(`${people(many)}, each of another post`, different),
  ];
  for (const line of lines) progress(`filters: ${line.join(' | ')}`);
  const text = [
    '### Filters',
    `Streams of \`changes(post: …)\` with \`{ kind postId post { title version } }\`; ${PER_SECOND} events a second, each of which one stream hears of, written by another process.`,
    table(
      ['streams', 'to open, ms', 'live heap, KB a stream', 'CPU, µs an event', 'statements an event'],
      lines,
    ),
  ].join('\n\n');
  return {
    text,
    aims: [
      {
        what: 'CPU of an event among different filters ÷ alone',
        most: MOST_TIMES,
        measured: different.cpuMsAnEvent / one.cpuMsAnEvent,
      },
      { what: 'statements of such an event', most: MOST_STATEMENTS, measured: different.statementsAnEvent },
      {
        what: 'opening different filters ÷ equal ones',
        most: MOST_TO_OPEN,
        measured: different.openMs / equal.openMs,
      },
      {
        what: 'live heap of different filters ÷ equal ones',
        most: MOST_TO_OPEN,
        measured: different.heapBytes / equal.heapBytes,
      },
    ],
  };
};
