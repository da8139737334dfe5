import { onTestFinished, vi } from 'vitest';
import { cleanUpJobs } from '../../src/app/create-app.ts';
import type { Database } from '../../src/database/database.ts';
import { type Job, startCleanUp } from '../../src/database/jobs.ts';
import { createLogger } from '../../src/platform/log/log.ts';
import { createMetrics, type Metrics } from '../../src/platform/metrics/metrics.ts';
import type { TestApp } from './app.ts';
import { holdTimers } from './time/timers.ts';

/** The clean-up of an instance, for as long as a test runs. It is done when the test says so. */
export interface TestCleanUp extends ReturnType<typeof startCleanUp> {
  readonly metrics: Metrics;
  readonly logged: string[];
}

export function cleanUp(
  { config, database }: Pick<TestApp, 'config'> & { readonly database: Database },
  jobs: readonly Job[] = cleanUpJobs(config),
  /** False for a test that holds the timers itself. */
  holdsTimers = !vi.isFakeTimers(),
): TestCleanUp {
  const logged: string[] = [];
  const log = createLogger({
    level: 'debug',
    pretty: false,
    destination: { write: (line) => void logged.push(line) },
  });
  const metrics = createMetrics();
  const timers = holdsTimers ? holdTimers(30_000) : undefined;
  const started = startCleanUp({ jobs, database, metrics, log });
  timers?.release();
  onTestFinished(() => started.stop());
  return { ...started, metrics, logged };
}
