import { build } from './build.ts';
import type { Config } from './config.ts';
import type { Database } from './db/database.ts';
import { registerDatabaseMetrics } from './db/database-metrics.ts';
import { registerLogMetrics } from './log-output.ts';
import { createMetrics, type Metrics, registerBuildInfo } from './metrics.ts';
import { registerTracing } from './tracing/open-tracing.ts';
import type { Tracing } from './tracing/tracing.ts';

export interface ServiceMetricsOptions {
  readonly config: Config;
  readonly database: Database;
  readonly tracing: Tracing | undefined;
}

/** The metrics of a service, with those of its process, database, log and traces. */
export function createServiceMetrics({ config, database, tracing }: ServiceMetricsOptions): Metrics {
  const metrics = createMetrics();
  registerBuildInfo(metrics, build());
  registerLogMetrics(metrics);
  registerDatabaseMetrics(metrics, database, config);
  registerTracing(metrics, tracing);
  return metrics;
}
