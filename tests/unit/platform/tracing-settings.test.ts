import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/platform/config/config.ts';
import { problemsOf } from './problems-of.ts';

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };
const tracing = (settings: Readonly<Record<string, string>>) => loadConfig(settings).tracing;

describe('The settings of traces', () => {
  it('are none without an endpoint', () => {
    expect(tracing({})).toBeUndefined();
    expect(tracing({ OTEL_SERVICE_NAME: 'mine', OTEL_TRACES_SAMPLER: 'always_on' })).toBeUndefined();
  });

  it('have the defaults of OpenTelemetry', () => {
    expect(tracing(ENDPOINT)).toEqual({
      url: 'http://collector:4318/v1/traces',
      headers: {},
      timeoutMs: 10_000,
      resource: { 'service.name': 'content-graph' },
      ratio: 1,
      parentBased: true,
      queue: { most: 2_048, batch: 512, delayMs: 5_000 },
    });
  });

  it.each([
    ['http://collector:4318/', 'http://collector:4318/v1/traces'],
    ['https://collector/otlp', 'https://collector/otlp/v1/traces'],
  ])('add the path of traces to %s', (endpoint, url) => {
    expect(tracing({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint })?.url).toBe(url);
  });

  it('take an endpoint for traces alone as it is, before the other', () => {
    const own = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://traces/in' };
    expect(tracing({ ...ENDPOINT, ...own })?.url).toBe('http://traces/in');
    expect(tracing(own)?.url).toBe('http://traces/in');
  });

  it.each([
    ['always_on', '1', 1, false],
    ['always_off', '1', 0, false],
    ['traceidratio', '0.25', 0.25, false],
    ['parentbased_always_on', '0.5', 1, true],
    ['parentbased_always_off', '0.5', 0, true],
    ['parentbased_traceidratio', '0.01', 0.01, true],
  ])('sample by %s with %s', (sampler, argument, ratio, parentBased) => {
    const settings = { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: argument };
    expect(tracing({ ...ENDPOINT, ...settings })).toMatchObject({ ratio, parentBased });
  });

  it('read headers and attributes as pairs, percent-encoded', () => {
    const settings = {
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20a%2Cb, x-tenant = 7 ',
      OTEL_RESOURCE_ATTRIBUTES: 'service.name=from attributes,deployment.environment.name=test',
    };
    expect(tracing({ ...ENDPOINT, ...settings })).toMatchObject({
      headers: { authorization: 'Bearer a,b', 'x-tenant': '7' },
      resource: { 'service.name': 'from attributes', 'deployment.environment.name': 'test' },
    });
    const named = { ...settings, OTEL_SERVICE_NAME: 'named' };
    expect(tracing({ ...ENDPOINT, ...named })?.resource['service.name']).toBe('named');
  });

  it('never let a batch be larger than the queue', () => {
    expect(tracing({ ...ENDPOINT, OTEL_BSP_MAX_QUEUE_SIZE: '100' })?.queue).toMatchObject({
      most: 100,
      batch: 100,
    });
  });

  it.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://user:password@collector:4318'],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'nonsense'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'authorization'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a=%'],
    ['OTEL_EXPORTER_OTLP_TIMEOUT', '0'],
    ['OTEL_RESOURCE_ATTRIBUTES', '=a'],
    ['OTEL_TRACES_SAMPLER', 'sometimes'],
    ['OTEL_TRACES_SAMPLER_ARG', '2'],
    ['OTEL_TRACES_EXPORTER', 'zipkin'],
    ['OTEL_BSP_SCHEDULE_DELAY', '0'],
    ['OTEL_BSP_MAX_QUEUE_SIZE', '0'],
    ['OTEL_BSP_MAX_EXPORT_BATCH_SIZE', '0'],
  ])('reject %s=%s', (name, value) => {
    expect(problemsOf({ [name]: value })).toEqual([expect.stringMatching(new RegExp(`^${name} must be `))]);
  });

  it('are none with the exporter none', () => {
    expect(tracing({ ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' })).toBeUndefined();
  });
});
