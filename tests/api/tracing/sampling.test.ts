import { describe, expect, it } from 'vitest';
import { ORIGIN, type TestApp, useApp } from '../../support/app.ts';
import { graphqlPost } from '../../support/graphql.ts';
import { linesOf } from '../../support/log-lines.ts';
import { type Collector, useCollector } from '../../support/otlp.ts';

const STRANGER = '198.51.100.4';
const SPAN = '00f067aa0ba902b7';
let traces = 0;

/** The trace id of a request as its log line has it; the request is from the proxy unless said otherwise. */
async function asked(
  app: TestApp,
  { sampled, peerAddress, header }: { sampled?: boolean; peerAddress?: string; header?: string } = {},
): Promise<{ readonly traceId: string | undefined; readonly sent: string }> {
  traces += 1;
  const sent = (0xfeed0000 + traces).toString(16).padStart(32, '0');
  const requestId = `request ${traces}`;
  const traceparent =
    header ?? (sampled === undefined ? undefined : `00-${sent}-${SPAN}-0${sampled ? 1 : 0}`);
  const headers = { 'x-request-id': requestId, ...(traceparent === undefined ? {} : { traceparent }) };
  const request = new Request(`${ORIGIN}/graphql`, graphqlPost('{ __typename }', { headers }));
  const arrival = peerAddress === undefined ? {} : { peerAddress };
  expect((await app.app.fetch(request, arrival)).status).toBe(200);
  const line = linesOf(app.logged, 'http.request').find((one) => one.requestId === requestId);
  return { traceId: line?.traceId as string | undefined, sent };
}

/** Which of these traces were exported, once a later one was. */
async function exported(
  collector: Collector,
  app: TestApp,
  traceIds: readonly (string | undefined)[],
): Promise<(string | undefined)[]> {
  const last = await asked(app, { sampled: true });
  const all = () => collector.spans.map(({ traceId }) => traceId);
  await expect.poll(all).toContain(last.traceId);
  return traceIds.filter((traceId) => traceId !== undefined && all().includes(traceId));
}

describe('Which traces are sampled', () => {
  const collector = useCollector({
    TRUST_PROXY: '127.0.0.1',
    OTEL_TRACES_SAMPLER: 'parentbased_always_off',
  });
  const whenAsked = useApp({ settings: collector.settings });

  it('is for a trusted proxy to say, and for nobody else', async () => {
    const byProxy = await asked(whenAsked, { sampled: true });
    const rejected = await asked(whenAsked, { sampled: false });
    const byStranger = await asked(whenAsked, { sampled: true, peerAddress: STRANGER });
    const own = await asked(whenAsked);
    const ids = [byProxy, rejected, byStranger, own].map(({ traceId }) => traceId);
    expect(await exported(collector, whenAsked, ids)).toEqual([byProxy.traceId]);
    // Whoever began a trace finds it in the log, sampled or not.
    for (const one of [byProxy, rejected, byStranger]) expect(one.traceId).toBe(one.sent);
    expect(own.traceId).toBeUndefined();
  });

  it.each([
    ['a version that there cannot be', `ff-${'a'.repeat(32)}-${SPAN}-01`],
    ['no trace id', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['no span id', `00-${'a'.repeat(32)}-${'0'.repeat(16)}-01`],
    ['more than its version has', `00-${'a'.repeat(32)}-${SPAN}-01-more`],
    ['capitals', `00-${'A'.repeat(32)}-${SPAN}-01`],
    ['nonsense', 'nonsense'],
  ])('ignores a traceparent with %s', async (_, header) => {
    const { traceId } = await asked(whenAsked, { header });
    expect(traceId).toBeUndefined();
    expect(await exported(collector, whenAsked, ['a'.repeat(32)])).toEqual([]);
  });

  it('takes a later version of traceparent, whatever else it holds', async () => {
    const { traceId } = await asked(whenAsked, { header: `01-${'b'.repeat(32)}-${SPAN}-01-more` });
    expect(traceId).toBe('b'.repeat(32));
    expect(await exported(collector, whenAsked, [traceId])).toEqual([traceId]);
  });
});

describe('A sampler that is not based on parents', () => {
  const collector = useCollector({ TRUST_PROXY: '127.0.0.1', OTEL_TRACES_SAMPLER: 'always_on' });
  const app = useApp({ settings: collector.settings });

  it('samples what a trusted proxy does not', async () => {
    const { traceId } = await asked(app, { sampled: false });
    expect(await exported(collector, app, [traceId])).toEqual([traceId]);
  });
});

describe('What leads to a trace', () => {
  const collector = useCollector({
    OTEL_SERVICE_NAME: 'content',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=a%20place',
  });
  const app = useApp({ settings: collector.settings });

  it('is an exemplar of each latency, in OpenMetrics', async () => {
    const { traceId } = await asked(app);
    const scrape = async (accept: string) => {
      const response = await app.fetch('/metrics', { headers: { accept } });
      return { type: response.headers.get('content-type'), text: await response.text() };
    };
    const open = await scrape('application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5');
    expect(open.type).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8');
    expect(open.text).toMatch(/\n# EOF\n$/);
    for (const name of [
      'content_graph_http_request_duration_seconds',
      'content_graph_graphql_operation_duration_seconds',
    ])
      expect(open.text).toMatch(
        new RegExp(`^${name}_bucket\\{.*\\} \\d+ # \\{trace_id="${traceId}"\\} [\\d.e-]+ [\\d.]+$`, 'm'),
      );
    // Only these: prom-client's own histograms have none.
    expect(open.text.match(/ # \{(?!trace_id=")/g)).toBeNull();
    const plain = await scrape('text/plain');
    expect(plain.type).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(plain.text).not.toContain('trace_id');
  });

  it('is in the log of the request alone that has its id, however many have the same', async () => {
    const same = { 'x-request-id': 'undefined', traceparent: `00-${'c'.repeat(32)}-${SPAN}-00` };
    const before = app.logged.length;
    const ask = () => app.fetch('/graphql', graphqlPost('query { viewer { id } }', { headers: same }));
    await Promise.all([ask(), ask(), asked(app)]);
    const lines = app.logged.slice(before).map((line) => JSON.parse(line) as Record<string, unknown>);
    for (const { requestId, traceId, event } of lines) {
      if (event === 'http.request' && requestId === 'undefined') expect(traceId).toBe('c'.repeat(32));
      else if (requestId !== 'undefined') expect(traceId).not.toBe('c'.repeat(32));
    }
  });

  it('names the service as its settings do', async () => {
    const { traceId } = await asked(app);
    expect(await exported(collector, app, [traceId])).toEqual([traceId]);
    expect(collector.spans[0]?.resource).toMatchObject({
      'service.name': 'content',
      'deployment.environment.name': 'a place',
    });
  });
});
