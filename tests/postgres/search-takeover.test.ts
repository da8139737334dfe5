import { expect, it } from 'vitest';
import { ORIGIN, useApp } from '../support/app.ts';
import { createPost } from '../support/content.ts';
import { connect, postgresOf } from '../support/database/postgres.ts';
import { readMetric } from '../support/metrics.ts';
import { temporaryFolder, until } from '../support/processes/process.ts';
import { productionSettings, startServer } from '../support/processes/server.ts';
import { crawl } from '../support/search.ts';

const app = useApp();

it('another instance goes on with the search index when the one that writes it is killed', async () => {
  const { key } = await app.account();
  const { url } = postgresOf(app);
  const ids: string[] = [];
  const create = async () => void ids.unshift(await createPost(app, key, { title: 'Kept', tags: ['t'] }));
  const expectFound = () =>
    expect.poll(async () => (await crawl(app, key, { query: 'kept' })).ids).toEqual(ids);
  const writer = await startServer(await temporaryFolder(), { ...productionSettings(), DATABASE_URL: url });
  await create();
  // The instance of the test does not index before it listens.
  await expectFound();
  app.app.listensAt(ORIGIN);
  const other = await connect(url);
  await other.query('BEGIN; LOCK TABLE search_entries IN SHARE ROW EXCLUSIVE MODE');
  await create();
  const WAITING = `SELECT FROM pg_locks WHERE NOT granted AND relation = 'search_entries'::regclass`;
  await until('a write to the index', async () => (await other.query(WAITING)).rowCount !== 0);
  const readLag = () => readMetric(app, 'content_graph_search_lag_seconds');
  expect(await readLag()).toBe(0);
  writer.kill('SIGKILL');
  await writer.exited;
  await create();
  await expect.poll(readLag).toBeGreaterThan(0);
  await other.query('ROLLBACK');
  await expectFound();
  await expect.poll(readLag).toBe(0);
  await expect.poll(() => readMetric(app, 'content_graph_search_posts_behind')).toBe(0);
  expect(await app.prisma.tagCount.findMany()).toEqual([{ name: 't', postCount: 3 }]);
});
