import { Worker } from 'node:worker_threads';
import type { Logger } from '../log.ts';
import { createOutageLog } from '../outage-log.ts';
import type { Tally } from '../tally.ts';
import type { TracingSettings } from './settings.ts';
import type { Exported, ExporterOptions, SpanRecord } from './span-record.ts';

export interface SpanExportOptions {
  readonly exporter: ExporterOptions;
  readonly queue: TracingSettings['queue'];
  /** Counts what becomes of each span. */
  readonly outcomes: Tally;
  readonly log: Logger;
}

/** Spans on their way to a collector. */
export interface SpanExport {
  add(span: SpanRecord): void;
  /** Sends what is left, and ends the thread once the collector has it, or after so long. Never rejects. */
  close(limitMs: number): Promise<void>;
}

/**
 * Exports spans in batches, from a thread of its own. At most `queue.most` wait or are under way: those that end meanwhile
 * are dropped, however long a collector takes. A thread that dies takes its batches with it, and the next batch gets
 * another one.
 */
export function createSpanExport({ exporter, queue, outcomes, log }: SpanExportOptions): SpanExport {
  const outage = createOutageLog(log, 'traces could not be exported', 'traces are exported again');
  let batch: SpanRecord[] = [];
  let timer: NodeJS.Timeout | undefined;
  let waiting = 0;
  /** The sizes of the batches that the thread has, the oldest first. */
  let given: number[] = [];
  let worker: Worker | undefined;
  let onIdle: (() => void) | undefined;

  function done(count: number, error: unknown): void {
    waiting -= count;
    outcomes.add(error === undefined ? 'exported' : 'failed', '', count);
    if (error === undefined) outage.over();
    else outage.failed({ err: error });
    if (given.length === 0) onIdle?.();
  }

  function start(): Worker {
    const started = new Worker(new URL('./export-worker.ts', import.meta.url), { workerData: exporter });
    started.unref();
    started.on('message', ({ error }: Exported) => done(given.shift() ?? 0, error));
    let reason: unknown = new Error('the thread that exports traces has ended');
    started.on('error', (error) => {
      reason = error;
    });
    started.on('exit', () => {
      if (worker === started) worker = undefined;
      const lost = given;
      given = [];
      for (const count of lost) done(count, reason);
    });
    return started;
  }

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    if (batch.length === 0) return;
    worker ??= start();
    given.push(batch.length);
    worker.postMessage(batch);
    batch = [];
  }

  return {
    add(span) {
      if (waiting >= queue.most) return outcomes.add('dropped');
      waiting += 1;
      batch.push(span);
      if (batch.length >= queue.batch) flush();
      else timer ??= setTimeout(flush, queue.delayMs).unref();
    },
    async close(limitMs) {
      flush();
      if (given.length > 0) {
        const { promise, resolve } = Promise.withResolvers<void>();
        onIdle = resolve;
        const limit = setTimeout(resolve, limitMs);
        await promise;
        clearTimeout(limit);
      }
      await worker?.terminate();
    },
  };
}
