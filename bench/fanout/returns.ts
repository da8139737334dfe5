import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { CHECKSUM_SQL, encodeEventName } from '../../src/engine/events/event.ts';
import { PRODUCT } from '../contestants.ts';
import { machineMs } from '../harness/machine-time.ts';
import { figure, table } from '../report/markdown.ts';
import { progress } from '../report/results.ts';
import { followRequest } from './filters.ts';
import { type Part, people, type RunPart } from './part.ts';
import { type Scene, start } from './scene.ts';

/** Between two events of followed posts are so many of others. */
const OTHERS = 166;
const ROUNDS = 3;
const QUICK_ROUNDS = 2;
const A_TRANSACTION = 1_000;
const OTHER_POSTS = 100_000;
const SETTLE_MS = 5_000;
/** "All are back": while they come, as after a restart, nothing is rejected for good. */
const MOST_SECONDS = 60;

/** Writes an hour of events: each followed post has one in each round, in the order of the posts. Returns their number. */
async function writeHour({ workspace, quick }: Scene, posts: readonly string[]): Promise<number> {
  const { admin, authorId } = workspace;
  await admin.query('TRUNCATE events');
  await admin.query(
    'CREATE TEMPORARY TABLE followed AS SELECT * FROM unnest($1::uuid[]) WITH ORDINALITY AS f(id, n)',
    [posts],
  );
  await admin.query('CREATE UNIQUE INDEX ON followed (n)');
  await admin.query('ANALYZE followed');
  const events = posts.length * (quick ? QUICK_ROUNDS : ROUNDS) * (OTHERS + 1);
  // A transaction each, as many small ones would have; ids of posts are not of this bench's making.
  await admin.query(`DO $$ BEGIN
    FOR batch IN 0 .. ${Math.ceil(events / A_TRANSACTION) - 1} LOOP
      INSERT INTO events (kind, root_id, owner_id, created_at)
        SELECT 'POST_UPDATED', coalesce(followed.id, md5((g % ${OTHER_POSTS})::text)::uuid), '${authorId}',
          now() - interval '1 hour' * (1 - g::float8 / ${events})
        FROM generate_series(batch * ${A_TRANSACTION} + 1, least((batch + 1) * ${A_TRANSACTION}, ${events})) AS g
        LEFT JOIN followed ON g % ${OTHERS + 1} = 0 AND followed.n = 1 + (g / ${OTHERS + 1} - 1) % ${posts.length};
      COMMIT;
    END LOOP;
  END $$`);
  await admin.query('VACUUM (ANALYZE) events');
  return events;
}

/** The id of the first event of each post, from where its stream goes on. */
async function firstIds({ workspace }: Scene, posts: readonly string[]): Promise<string[]> {
  const { rows } = await workspace.admin.query<{ id: string; checksum: string }>(
    `SELECT event.id, event.checksum FROM followed, LATERAL (
       SELECT id, ${CHECKSUM_SQL} AS checksum FROM events WHERE root_id = followed.id ORDER BY era, xid, id LIMIT 1) AS event
     ORDER BY followed.n`,
  );
  if (rows.length !== posts.length) throw new Error(`${rows.length} posts have events`);
  return rows.map(({ id, checksum }) => encodeEventName({ id: Number(id), checksum }));
}

/** Streams that each follow another post come back after a restart of the service. */
export const returns: RunPart = async (scene, cleanup): Promise<Part> => {
  const { many, crowd, keys, quick } = scene;
  const posts = Array.from({ length: many }, () => randomUUID());
  const events = await writeHour(scene, posts);
  progress(`returns: ${people(events)} events`);
  const ids = await firstIds(scene, posts);
  const { server } = await start(cleanup, scene, PRODUCT);
  await delay(SETTLE_MS);
  const requests = posts.map((post, n) =>
    followRequest(post, keys[n % keys.length] ?? '', { 'last-event-id': ids[n] ?? '' }),
  );
  const missed = (quick ? QUICK_ROUNDS : ROUNDS) - 1;
  await crowd.expect(many, missed);
  const before = await server.usage();
  const startMs = machineMs();
  const { elapsedMs, retries } = await crowd.connect({ port: server.port, subscribers: many, requests });
  const { lastMs } = await crowd.received();
  const after = await server.usage();
  await crowd.disconnect();
  const seconds = (lastMs - startMs) / 1000;
  const line = [
    people(many),
    figure(elapsedMs / 1000),
    figure(seconds),
    figure((after.cpuMs - before.cpuMs) / many),
    figure((after.statements - before.statements) / many),
    `${retries}`,
  ];
  progress(`returns: ${line.join(' | ')}`);
  const text = [
    '### Filters after a restart',
    `Each stream comes back to \`changes(post: …)\` with the id of the first event of its post, up to an hour old, among ${people(events)} events, ${missed} of which it has missed.`,
    table(
      [
        'streams',
        'until all are live, s',
        'until all have the events, s',
        'CPU, ms a stream',
        'statements a stream',
        'tried again',
      ],
      [line],
    ),
  ].join('\n\n');
  return {
    text,
    aims: [
      { what: 'seconds until all filters are back after a restart', most: MOST_SECONDS, measured: seconds },
    ],
  };
};
