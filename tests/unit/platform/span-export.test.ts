import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createLogger } from '../../../src/platform/log.ts';
import { Tally } from '../../../src/platform/tally.ts';
import { createSpanExport } from '../../../src/platform/tracing/span-export.ts';
import type { SpanRecord } from '../../../src/platform/tracing/span-record.ts';
import { useCollector } from '../../support/otlp.ts';

const span = (name: string): SpanRecord => ({
  name,
  kind: 'internal',
  traceId: 'a'.repeat(32),
  spanId: 'b'.repeat(16),
  parentId: undefined,
  parentIsRemote: false,
  link: undefined,
  startMs: 1_700_000_000_000.25,
  endMs: 1_700_000_000_001.75,
  attributes: {},
  failed: false,
});

describe('The thread that exports spans', () => {
  const collector = useCollector();

  function exportOf(outcomes: Tally, queue = { most: 10, batch: 1, delayMs: 5 }) {
    const spans = createSpanExport({
      exporter: {
        url: `${collector.settings.OTEL_EXPORTER_OTLP_ENDPOINT}/v1/traces`,
        headers: {},
        timeoutMs: 60_000,
        scope: { name: 'test', version: '1' },
        resource: {},
      },
      queue,
      outcomes,
      log: createLogger({ level: 'silent', pretty: false }),
    });
    onTestFinished(() => spans.close(0));
    return spans;
  }
  const counted = (outcomes: Tally) =>
    Object.fromEntries([...outcomes.entries()].map(([outcome, _, count]) => [outcome, count]));

  it('takes its batches with it when it dies, which is counted, and the next batch is sent all the same', async () => {
    const outcomes = new Tally();
    const spans = exportOf(outcomes);
    const started = once(process, 'worker');
    collector.answer = () => undefined;
    spans.add(span('lost'));
    await expect.poll(() => collector.spans.length).toBe(1);
    const [thread] = (await started) as [Worker];
    await thread.terminate();
    await expect.poll(() => counted(outcomes)).toEqual({ failed: 1 });
    collector.answer = (response) => void response.writeHead(200).end();
    // None is started anew just after one has died.
    const sent = () => {
      spans.add(span('sent'));
      return counted(outcomes).exported ?? 0;
    };
    await expect.poll(sent).toBeGreaterThan(0);
    expect(new Set(collector.spans.map(({ name }) => name))).toEqual(new Set(['lost', 'sent']));
  });

  it('is not started once it is closed', async () => {
    const outcomes = new Tally();
    const spans = exportOf(outcomes);
    await spans.close(0);
    spans.add(span('late'));
    expect(counted(outcomes)).toEqual({ dropped: 1 });
  });

  it('has sent what was left when it is closed', async () => {
    const outcomes = new Tally();
    const spans = exportOf(outcomes, { most: 10, batch: 10, delayMs: 600_000 });
    spans.add(span('left'));
    await spans.close(20_000);
    expect(counted(outcomes)).toEqual({ exported: 1 });
  });
});
