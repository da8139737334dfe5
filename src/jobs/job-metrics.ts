import type { Metrics } from '../platform/metrics.ts';

const DURATION_BUCKETS_SECONDS = [0.01, 0.1, 1, 10, 60];

/**
 * Metrics of the clean-up. An instance counts what it does itself: add up or take the greatest over all instances.
 * `names`: all jobs, so that each has its counters from the start.
 */
export function createJobMetrics(metrics: Metrics, names: readonly string[]) {
  const label = ['task'] as const;
  // A task that never succeeds must be overdue some day.
  const lastSuccess = new Map(names.map((job) => [job, Date.now() / 1000]));
  metrics.gauges(
    'job_last_success_timestamp_seconds',
    'When this instance last completed the clean-up task, in Unix time; until it has, when it started.',
    'task',
    () => lastSuccess,
  );
  const duration = metrics.timingsBy(
    'job_duration_seconds',
    'Time that a completed clean-up task took.',
    DURATION_BUCKETS_SECONDS,
    'task',
  );
  const removed = metrics.counter('job_rows_removed_total', 'Rows that clean-up tasks removed.', label);
  const failures = metrics.counter('job_failures_total', 'Clean-up tasks that failed.', label);
  for (const job of names) {
    duration.of(job);
    removed.inc({ task: job }, 0);
    failures.inc({ task: job }, 0);
  }
  return {
    succeeded(job: string, rows: number, seconds: number): void {
      lastSuccess.set(job, Date.now() / 1000);
      duration.of(job).observe(seconds);
      if (rows > 0) removed.inc({ task: job }, rows);
    },
    failed: (job: string) => failures.inc({ task: job }),
  };
}
