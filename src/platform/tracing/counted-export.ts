import { ExportResultCode } from '@opentelemetry/core';
import { BatchSpanProcessor, type SpanExporter, type SpanProcessor } from '@opentelemetry/sdk-trace';
import type { Logger } from '../log.ts';
import { createOutageLog } from '../outage-log.ts';
import type { Tally } from '../tally.ts';
import type { TracingSettings } from './settings.ts';

export interface CountedExportOptions extends Pick<TracingSettings, 'queue' | 'timeoutMs'> {
  readonly exporter: SpanExporter;
  /** Counts what becomes of each span. */
  readonly outcomes: Tally;
  readonly log: Logger;
}

/**
 * Exports spans in batches, beside everything else. At most `queue.most` wait or are under way: those that end meanwhile
 * are dropped, however long a collector takes.
 */
export function countedExport({
  exporter,
  queue,
  timeoutMs,
  outcomes,
  log,
}: CountedExportOptions): Pick<SpanProcessor, 'onEnd' | 'shutdown'> {
  let waiting = 0;
  const outage = createOutageLog(log, 'traces could not be exported', 'traces are exported again');
  const batches = new BatchSpanProcessor({
    exporter: {
      export(spans, done) {
        exporter.export(spans, (result) => {
          const failed = result.code !== ExportResultCode.SUCCESS;
          waiting -= spans.length;
          outcomes.add(failed ? 'failed' : 'exported', '', spans.length);
          if (failed) outage.failed({ err: result.error });
          else outage.over();
          done(result);
        });
      },
      shutdown: () => exporter.shutdown(),
    },
    maxQueueSize: queue.most,
    maxExportBatchSize: queue.batch,
    scheduledDelayMillis: queue.delayMs,
    exportTimeoutMillis: timeoutMs,
  });
  return {
    onEnd(span) {
      if (waiting >= queue.most) return outcomes.add('dropped');
      waiting += 1;
      batches.onEnd(span);
    },
    shutdown: () => batches.shutdown(),
  };
}
