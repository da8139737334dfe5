import { describe, expect, it, onTestFinished } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { createLogger } from '../../src/platform/log/log.ts';
import { openTracing } from '../../src/platform/tracing/open-tracing.ts';
import { useApp } from '../support/app.ts';
import { pgbouncer } from '../support/database/pgbouncer.ts';
import { postgresOf } from '../support/database/postgres.ts';
import { graphqlPost, readResponse } from '../support/graphql.ts';
import { useCollector } from '../support/otlp.ts';
import { secondInstance } from '../support/second-instance.ts';

const ALONE = 'mutation { createPost(title: "t", body: "b") { id } }';
const IN_TRANSACTION = 'mutation { createPost(title: "t", body: "b") { id author { email } } }';
const SPAN = '00f067aa0ba902b7';

describe('Through a connection pooler in transaction mode', () => {
  const collector = useCollector({
    TRUST_PROXY: '127.0.0.1',
    OTEL_TRACES_SAMPLER: 'parentbased_always_off',
    DATABASE_POOL_SIZE: '1',
  });
  const app = useApp({ settings: collector.settings });

  it('an event has the trace of its own mutation, and one that is not sampled has none', async () => {
    const own = postgresOf(app);
    const config = { ...app.config, database: { ...own, url: await pgbouncer(own.url) } };
    const log = createLogger({ level: 'error', pretty: false });
    const database = await openDatabase({ config, log });
    onTestFinished(() => database.close());
    const tracing = await openTracing(config.tracing, 'pooled', log);
    const instance = secondInstance(app, { config, database, tracing });
    const { key } = await app.account();
    const expected: (string | null)[] = [];
    for (const [index, query] of [ALONE, IN_TRANSACTION, ALONE, IN_TRANSACTION].entries())
      for (const sampled of [true, false]) {
        const traceId = String(index + 1).padStart(32, 'a');
        const traceparent = `00-${traceId}-${SPAN}-0${sampled ? 1 : 0}`;
        const response = await instance.fetch(
          '/graphql',
          graphqlPost(query, { key, headers: { traceparent } }),
        );
        expect((await readResponse(response)).errors).toBeUndefined();
        expected.push(sampled ? traceId : null);
      }
    const rows = await app.prisma.event.findMany({ orderBy: { id: 'asc' } });
    expect(rows.map(({ trace }) => trace?.slice(3, 35) ?? null)).toEqual(expected);
  });
});
