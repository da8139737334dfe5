import { expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { eventsReadable } from '../../support/database/events.ts';
import { watchedDatabase } from '../../support/database/watched.ts';
import { planOf, type WatchedStatement } from '../../support/database/watched-statements.ts';
import { secondInstance } from '../../support/second-instance.ts';
import { subscribeToChanges, told, toldIn, Writer } from '../../support/streams/changes.ts';

const OTHERS = 20_000;

/** The rows that each scan of the events has read. Other tables of the statement, such as pg_database, do not count. */
function countRowsOfEvents(plan: unknown): number[] {
  if (typeof plan !== 'object' || plan === null) return [];
  const below = Object.values(plan).flatMap(countRowsOfEvents);
  if (!('Relation Name' in plan) || plan['Relation Name'] !== 'events') return below;
  const read = Object.entries(plan).filter(([name]) => /^(?:Actual Rows|Rows Removed by )/.test(name));
  return [...below, ...read.map(([, rows]) => Number(rows))];
}

const app = useApp();

it('A filtered stream that comes back reads only the events of its post or author, however many others there are', async () => {
  const ada = await app.account();
  const { startId: header } = await subscribeToChanges(app, { key: ada.key });
  const writer = new Writer(app);
  const post = await writer.createPost(ada);
  await app.prisma.$executeRaw`INSERT INTO events (kind, root_id, owner_id)
    SELECT 'POST_UPDATED', gen_random_uuid(), gen_random_uuid() FROM generate_series(1, ${OTHERS})`;
  await writer.updatePost(ada, post, 'changed');
  await eventsReadable(app);
  await app.prisma.$executeRawUnsafe('VACUUM ANALYZE events');

  for (const [label, filter] of [
    ['events_after_of_root', { post }],
    ['events_after_of_owner', { author: ada.id }],
  ] as const) {
    const asked: WatchedStatement[] = [];
    const database = watchedDatabase(app.database, ({ name, text }, values) => {
      if (name.startsWith(label)) asked.push({ text, values });
    });
    const instance = secondInstance(app, { database });
    const stream = await subscribeToChanges(instance, { key: ada.key, filter, header });
    expect(toldIn(await stream.count(2))).toEqual(told(writer.changes));
    const [first] = asked;
    if (first === undefined) return expect.fail(`the log was not read by ${label}`);
    const seen = countRowsOfEvents(JSON.parse(await planOf(app, first, 'ANALYZE')));
    expect(seen.length).toBeGreaterThan(0);
    expect(Math.max(...seen)).toBeLessThanOrEqual(10);
  }
});
