import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { linesOf, WARN } from '../../support/log-lines.ts';
import { readMetricBy } from '../../support/metrics.ts';
import { type Collector, useCollector } from '../../support/otlp.ts';

const LOST = 'tracing.export_failed';
const QUERY = '{ __typename }';

/** A service whose collector is as the test wants it. */
function useExporter(further: Readonly<Record<string, string>> = {}) {
  const collector = useCollector({ OTEL_EXPORTER_OTLP_TIMEOUT: '300', ...further });
  const app = useApp({ settings: collector.settings });
  const outcomes = async () => {
    const { app: service } = app;
    const counted = await readMetricBy(
      { fetch: service.fetch },
      'content_graph_trace_spans_total',
      'outcome',
    );
    return Object.fromEntries(counted);
  };
  /** Requests that are answered as ever. */
  async function asks(times: number): Promise<void> {
    const { key } = await app.account();
    for (let time = 0; time < times; time += 1)
      expect((await app.gql(QUERY, { key })).data).toEqual({ __typename: 'Query' });
  }
  return { collector, app, outcomes, asks };
}

describe('An exporter', () => {
  const rejected: readonly [string, Collector['respond']][] = [
    ['refuses', (response) => void response.writeHead(400).end('no')],
    ['is in trouble', (response) => void response.writeHead(503).end()],
    ['hangs up', (response) => void response.destroy()],
    ['does not answer', () => undefined],
  ];
  describe.each(rejected)('whose collector %s', (_, result) => {
    const { collector, app, outcomes, asks } = useExporter();

    it('holds up nothing, is counted and told of, and goes on when the collector does', async () => {
      collector.respond = result;
      await asks(5);
      await expect.poll(outcomes).toMatchObject({ failed: expect.any(Number) });
      await expect.poll(async () => (await outcomes()).failed).toBeGreaterThan(0);
      expect(linesOf(app.logged, LOST)[0]).toMatchObject({ level: WARN });
      collector.respond = (response) => void response.writeHead(200).end();
      await asks(1);
      await expect.poll(async () => (await outcomes()).exported).toBeGreaterThan(0);
      // Once for each time that it went wrong: a rejection under way may come after the first success.
      await expect.poll(() => linesOf(app.logged, 'tracing.recovered')).not.toEqual([]);
    });
  });

  describe('with more spans than may wait', () => {
    const { collector, outcomes, asks } = useExporter({
      OTEL_BSP_MAX_QUEUE_SIZE: '4',
      OTEL_EXPORTER_OTLP_TIMEOUT: '600000',
    });

    it('drops those that end meanwhile, and counts them', async () => {
      collector.respond = () => undefined;
      await asks(10);
      await expect.poll(outcomes).toMatchObject({ exported: 0, failed: 0, dropped: expect.any(Number) });
      expect((await outcomes()).dropped).toBeGreaterThan(10);
      expect(collector.spans.length).toBeLessThanOrEqual(4);
    });
  });

  describe('without a collector', () => {
    const { app, outcomes, asks } = useExporter({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' });

    it('holds up nothing', async () => {
      await asks(5);
      await expect.poll(async () => (await outcomes()).failed).toBeGreaterThan(0);
      expect(linesOf(app.logged, LOST)).not.toEqual([]);
    });
  });
});
