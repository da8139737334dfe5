import { onTestFinished } from 'vitest';
import { cleanUpJobs } from '../../src/app.ts';
import type { Job } from '../../src/jobs/job.ts';
import { type Rounds, startRounds } from '../../src/jobs/rounds.ts';
import type { Database } from '../../src/platform/db/database.ts';
import { createLogger } from '../../src/platform/log.ts';
import { createMetrics, type Metrics } from '../../src/platform/metrics.ts';
import type { TestApp } from './app.ts';

/** The clean-up of an instance, for as long as a test runs. A round is done when the test says so. */
export interface CleanUp extends Rounds {
  readonly metrics: Metrics;
  readonly logged: string[];
}

export function cleanUp(
  { config, database }: Pick<TestApp, 'config'> & { readonly database: Database },
  jobs: readonly Job[] = cleanUpJobs(config),
): CleanUp {
  const logged: string[] = [];
  const log = createLogger({
    level: 'debug',
    pretty: false,
    destination: { write: (line) => void logged.push(line) },
  });
  const metrics = createMetrics();
  const rounds = startRounds({ jobs, database, metrics, log });
  onTestFinished(() => rounds.stop());
  return { ...rounds, metrics, logged };
}
