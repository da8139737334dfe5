import { describe, expect, it } from 'vitest';
import { createMetrics } from '../../../src/platform/metrics.ts';

describe('Metrics', () => {
  async function lines(metrics: ReturnType<typeof createMetrics>, name: string): Promise<string[]> {
    const text = await metrics.registry.getSingleMetricAsString(name);
    return text.split('\n').filter((line) => !line.startsWith('# HELP'));
  }

  it('count by labels, and from 0 without', async () => {
    const metrics = createMetrics();
    const requests = metrics.counter('requests_total', 'Requests.', ['path', 'status']);
    metrics.counter('bare_total', 'Nothing yet.');
    requests.inc({ path: '/a', status: 200 });
    requests.inc({ path: '/a', status: 200 });
    requests.inc({ path: '/a', status: 404 }, 3);
    expect(await lines(metrics, 'requests_total')).toEqual([
      '# TYPE requests_total counter',
      'requests_total{path="/a",status="200"} 2',
      'requests_total{path="/a",status="404"} 3',
    ]);
    expect(await lines(metrics, 'bare_total')).toEqual(['# TYPE bare_total counter', 'bare_total 0']);
  });

  it('sort observations into buckets that add up, their bounds included', async () => {
    const metrics = createMetrics();
    const duration = metrics.histogram('seconds', 'Time.', [0.1, 1], ['path']);
    for (const value of [0.1, 0.5, 1, 7]) duration.observe(value, { path: '/a' });
    expect(await lines(metrics, 'seconds')).toEqual([
      '# TYPE seconds histogram',
      'seconds_bucket{le="0.1",path="/a"} 1',
      'seconds_bucket{le="1",path="/a"} 3',
      'seconds_bucket{le="+Inf",path="/a"} 4',
      'seconds_sum{path="/a"} 8.6',
      'seconds_count{path="/a"} 4',
    ]);
  });

  it('refuse a name that is taken', () => {
    const metrics = createMetrics();
    metrics.counter('twice_total', 'Once.');
    expect(() => metrics.counter('twice_total', 'Again.')).toThrow(/already/);
  });
});
