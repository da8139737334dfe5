import { Worker } from 'node:worker_threads';
import type { Logger } from '../log.ts';
import { createOutageLog } from '../outage-log.ts';
import type { Tally } from '../tally.ts';
import type { TracingSettings } from './settings.ts';
import type { Exported, ExporterOptions, ExportFailure, SpanRecord } from './span-record.ts';

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

const failureFrom = ({ name, message }: Error): ExportFailure => ({ name, code: undefined, message });
const GONE = failureFrom(new Error('the thread that exports traces has ended'));

/**
 * Exports spans in batches, from a thread of its own. At most `queue.most` wait or are under way: those that end meanwhile
 * are dropped, however long a collector takes. A thread that dies takes its batches with it. The next batch gets another one,
 * unless the last has died just now.
 */
export function createSpanExport({ exporter, queue, outcomes, log }: SpanExportOptions): SpanExport {
  const outage = createOutageLog(log, 'traces could not be exported', 'traces are exported again');
  let batch: SpanRecord[] = [];
  let timer: NodeJS.Timeout | undefined;
  let waiting = 0;
  /** The sizes of the batches that the thread has, the oldest first. */
  let given: number[] = [];
  let worker: Worker | undefined;
  let diedMs = Number.NEGATIVE_INFINITY;
  let closed = false;
  let onIdle: (() => void) | undefined;

  function done(count: number, failure: ExportFailure | undefined): void {
    waiting -= count;
    outcomes.add(failure === undefined ? 'exported' : 'failed', '', count);
    if (failure === undefined) outage.over();
    else outage.failed({ err: failure });
    if (given.length === 0) onIdle?.();
  }

  function start(): Worker {
    const started = new Worker(new URL('./export-worker.ts', import.meta.url), { workerData: exporter });
    started.unref();
    started.on('message', ({ kind, failure }: Partial<Exported>) => {
      if (kind === 'exported') done(given.shift() ?? 0, failure);
    });
    let reason = GONE;
    started.on('error', (error: Error) => {
      reason = failureFrom(error);
    });
    started.on('exit', () => {
      if (worker === started) worker = undefined;
      diedMs = performance.now();
      const lost = given;
      given = [];
      for (const count of lost) done(count, reason);
    });
    return started;
  }

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    const spans = batch;
    batch = [];
    if (spans.length === 0) return;
    try {
      if (worker === undefined && performance.now() - diedMs < queue.delayMs) throw new Error(GONE.message);
      worker ??= start();
      worker.postMessage(spans);
      given.push(spans.length);
    } catch (error) {
      // No thread can be had. Whoever ends a span is not told.
      done(spans.length, failureFrom(error as Error));
    }
  }

  return {
    add(span) {
      if (closed || waiting >= queue.most) return outcomes.add('dropped');
      waiting += 1;
      batch.push(span);
      if (batch.length >= queue.batch) flush();
      else timer ??= setTimeout(flush, queue.delayMs).unref();
    },
    async close(limitMs) {
      closed = true;
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
