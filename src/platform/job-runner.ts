import type { Logger } from './log.ts';

/** Regular clean-up in small steps. Several instances may run it at the same time. */
export interface BackgroundJob {
  readonly name: string;
  run(): Promise<unknown>;
}

const INTERVAL_MS = 60_000;

/**
 * Runs the jobs one after another, every minute, until stopped. A failed job runs again in the next round.
 */
export function startBackgroundJobs(jobs: readonly BackgroundJob[], log: Logger): { stop(): Promise<void> } {
  let round = Promise.resolve();
  const timer = setInterval(() => {
    for (const { name, run } of jobs) {
      round = round.then(run).then(
        () => undefined,
        (error: unknown) => log.warn({ err: error, job: name }, 'a background job failed'),
      );
    }
  }, INTERVAL_MS).unref();
  return {
    async stop() {
      clearInterval(timer);
      await round;
    },
  };
}
