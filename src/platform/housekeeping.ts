import type { Logger } from './log.ts';

/** Something to be tidied up every now and then, in small steps, by any number of instances at once. */
export interface Chore {
  readonly name: string;
  run(): Promise<unknown>;
}

const INTERVAL_MS = 60_000;

/** Does the chores one after the other, again and again, until it is stopped. One that fails is tried the next time. */
export function keepHouse(chores: readonly Chore[], log: Logger): { stop(): Promise<void> } {
  let round = Promise.resolve();
  const timer = setInterval(() => {
    for (const { name, run } of chores) {
      round = round.then(run).then(
        () => undefined,
        (error: unknown) => log.warn({ err: error, chore: name }, 'a chore failed'),
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
