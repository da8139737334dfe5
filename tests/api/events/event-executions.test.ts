import { describe, expect, it } from 'vitest';
import type { Database } from '../../../src/database/database.ts';
import { useAccount, useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { graphqlPost } from '../../support/graphql.ts';
import { readMetric } from '../../support/metrics.ts';
import { secondInstance } from '../../support/second-instance.ts';
import { subscribe } from '../../support/streams/subscriber.ts';

const STREAMS = 30;
/** Different for each subscriber: those who ask the same are read for together. */
const queryOf = (n: number) =>
  `subscription { postCreated { title author { n${n}: name posts(limit: 5) { comments { body } } } } }`;

describe('events that many subscribers get at once', () => {
  const app = useApp({ settings: { MAX_STREAMS_PER_CLIENT: '1000' } });
  const caller = useAccount(app);

  /** The database, with a lock on what reads users for events, and how many such reads were on their way at most. */
  function held({ database }: { database: Database }) {
    const reads = { running: 0, most: 0 };
    let open = () => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    const watched: Database = {
      ...database,
      cancellable(cancellation) {
        const inner = database.cancellable(cancellation);
        return {
          async query(statement, values) {
            if (!statement.name.startsWith('users_by_id')) return inner.query(statement, values);
            reads.running += 1;
            reads.most = Math.max(reads.most, reads.running);
            await opened;
            return inner.query(statement, values).finally(() => {
              reads.running -= 1;
            });
          },
        };
      },
    };
    return { watched, reads, open };
  }

  it('are executed by a share of the database’s connections, while queries are answered; each gets its own', async () => {
    const { watched, reads, open } = held(app);
    const instance = secondInstance(app, { database: watched, lookAhead: false });
    const streams = await Promise.all(
      Array.from({ length: STREAMS }, (_, n) => subscribe(instance, { key: caller.key, query: queryOf(n) })),
    );
    const connections = app.config.database.kind === 'postgres' ? app.config.database.poolSize : 1;
    // Half, and the one that is there for others: this account is alone.
    const places = connections === 1 ? 1 : Math.min(connections / 2 + 1, connections - 1);
    await createPost(app, caller.key, { title: 'for all' });
    await expect
      .poll(() => readMetric(instance, 'content_graph_event_executions_waiting'))
      .toBe(STREAMS - places);
    expect(await readMetric(instance, 'content_graph_event_executions_running')).toBe(places);
    const query = await instance.fetch('/graphql', graphqlPost('{ posts { title } }', { key: caller.key }));
    expect(await query.json()).toMatchObject({ data: { posts: [{ title: 'for all' }] } });
    open();
    for (const { receive } of streams)
      expect(await receive()).toMatchObject({ title: 'for all', errors: undefined });
    expect(reads.most).toBeLessThanOrEqual(places);
    await expect.poll(() => readMetric(instance, 'content_graph_event_executions_running')).toBe(0);
  });

  it('are not executed for subscribers who left while they waited', async () => {
    const { watched, reads, open } = held(app);
    let begun = 0;
    const counted: Database = {
      ...watched,
      cancellable(cancellation) {
        begun += 1;
        return watched.cancellable(cancellation);
      },
    };
    const instance = secondInstance(app, { database: counted, lookAhead: false });
    const streams = await Promise.all(
      Array.from({ length: STREAMS }, (_, n) => subscribe(instance, { key: caller.key, query: queryOf(n) })),
    );
    const before = begun;
    await createPost(app, caller.key, { title: 'for nobody' });
    await expect
      .poll(() => readMetric(instance, 'content_graph_event_executions_waiting'))
      .toBeGreaterThan(0);
    await expect.poll(() => reads.running).toBeGreaterThan(0);
    // All that have begun are at their read: then no more begin.
    await expect
      .poll(
        async () => (await readMetric(instance, 'content_graph_event_executions_running')) - reads.running,
      )
      .toBe(0);
    const running = reads.running;
    for (const { close } of streams) void close().catch(() => undefined);
    await expect.poll(() => readMetric(instance, 'content_graph_event_streams_open')).toBe(0);
    open();
    await expect.poll(() => readMetric(instance, 'content_graph_event_executions_waiting')).toBe(0);
    await expect.poll(() => readMetric(instance, 'content_graph_event_executions_running')).toBe(0);
    expect(begun - before).toBe(running);
  });
});
