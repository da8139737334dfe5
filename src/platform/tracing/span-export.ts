import { ExportResultCode } from '@opentelemetry/core';
import { OTLPExporterBase } from '@opentelemetry/otlp-exporter-base';
import {
  createOtlpHttpExportDelegate,
  httpAgentFactoryFromOptions,
} from '@opentelemetry/otlp-exporter-base/node-http';
import { ProtobufTraceSerializer, TraceExporterMetricsHelper } from '@opentelemetry/otlp-transformer';
import { BatchSpanProcessor, type SpanExporter, type SpanProcessor } from '@opentelemetry/sdk-trace';
import type { TracingSettings } from '../config/config.ts';
import type { Logger } from '../log/log.ts';
import { createOutageReporter } from '../log/log-limits.ts';
import type { FastCounter } from '../metrics/instruments.ts';

const CONCURRENT_EXPORTS = 4;

export interface ExportReport {
  readonly log: Logger;
  readonly outcomes: FastCounter;
}

/** Uses the parts of `OTLPTraceExporter`, because the class itself reads the environment. */
function createExporter({ url, headers, timeoutMs }: TracingSettings): SpanExporter {
  const options = {
    url,
    headers: async () => ({ ...headers, 'Content-Type': 'application/x-protobuf' }),
    timeoutMillis: timeoutMs,
    compression: 'none' as const,
    concurrencyLimit: CONCURRENT_EXPORTS,
    // The exporter's internal timeout starts only when the socket is connected.
    agentFactory: httpAgentFactoryFromOptions({ keepAlive: true, timeout: timeoutMs }),
  };
  return new OTLPExporterBase(
    createOtlpHttpExportDelegate(
      options,
      ProtobufTraceSerializer,
      'otlp_http_span_exporter',
      TraceExporterMetricsHelper,
      undefined,
    ),
  );
}

/** Errors of the exporter contain the body of the response, which must not be logged. */
function describeFailure(error: (Error & { readonly code?: unknown }) | undefined) {
  const [first] = error instanceof AggregateError ? (error.errors as Error[]) : [];
  const message = error?.message || first?.message || 'the export failed';
  return { name: error?.name, code: error?.code, message };
}

/**
 * The batch processor limits only the waiting spans, and does not report the spans that it drops. Therefore
 * this function counts all spans that are waiting or being sent.
 */
export function createSpanExport(settings: TracingSettings, { log, outcomes }: ExportReport): SpanProcessor {
  const { queue, timeoutMs } = settings;
  const outage = createOutageReporter(log, 'tracing.export_failed', 'tracing.recovered');
  const exporter = createExporter(settings);
  let unsent = 0;
  const batches = new BatchSpanProcessor({
    maxQueueSize: queue.most,
    maxExportBatchSize: queue.batch,
    scheduledDelayMillis: queue.delayMs,
    exportTimeoutMillis: timeoutMs,
    exporter: {
      export(spans, done) {
        exporter.export(spans, (result) => {
          const exported = result.code === ExportResultCode.SUCCESS;
          unsent -= spans.length;
          outcomes.add(exported ? 'exported' : 'failed', '', spans.length);
          if (exported) outage.over();
          else outage.failed({ err: describeFailure(result.error) });
          done(result);
        });
      },
      shutdown: () => exporter.shutdown(),
    },
  });
  return {
    onStart() {},
    onEnd(span) {
      if (unsent >= queue.most) return outcomes.add('dropped');
      unsent += 1;
      batches.onEnd(span);
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  };
}
