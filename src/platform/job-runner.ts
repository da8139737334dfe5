import type { Logger } from './log.ts';

/** Something to be cleaned up regularly, in small steps, by any number of instances at once. */
export interface BackgroundJob {
  readonly name: string;
  run(): Promise<unknown>;
}

const INTERVAL_MS = 60_000;

/** Runs the jobs one after another, every minute, until it is stopped. A job that fails is run again with the next round. */
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
