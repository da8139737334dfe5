import { onTestFinished, vi } from 'vitest';
import { createJobs } from '../../src/app/create-app.ts';
import type { Database } from '../../src/database/database.ts';
import { type Job, startJobRunner } from '../../src/database/jobs.ts';
import { createLogger } from '../../src/platform/log/log.ts';
import { createMetrics, type Metrics } from '../../src/platform/metrics/metrics.ts';
import type { TestApp } from './app.ts';
import { holdTimers } from './time/timers.ts';

/** The job runner of an instance, for as long as a test runs. It runs jobs when the test says so. */
export interface TestJobRunner extends ReturnType<typeof startJobRunner> {
  readonly metrics: Metrics;
  readonly logged: string[];
}

export function startTestJobRunner(
  { config, database }: Pick<TestApp, 'config'> & { readonly database: Database },
  jobs: readonly Job[] = createJobs(config),
  /** False for a test that holds the timers itself. */
  holdsTimers = !vi.isFakeTimers(),
): TestJobRunner {
  const logged: string[] = [];
  const log = createLogger({
    level: 'debug',
    pretty: false,
    destination: { write: (line) => void logged.push(line) },
  });
  const metrics = createMetrics();
  const timers = holdsTimers ? holdTimers(30_000) : undefined;
  const started = startJobRunner({ jobs, database, metrics, log });
  timers?.release();
  onTestFinished(() => started.stop());
  return { ...started, metrics, logged };
}
