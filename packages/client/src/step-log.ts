import type { StreamStep } from './tab-channel.ts';

/** The last steps of a stream, so that a tab that comes later need not read its lists again. */
export interface StepLog {
  /** The position after the last step. */
  readonly position: string | undefined;
  add(step: StreamStep): void;
  /** Forgets all steps and continues at another position. */
  restart(position: string | undefined): void;
  /** @returns the steps after a position, or undefined if the position is too old or unknown */
  findAfter(position: string): readonly StreamStep[] | undefined;
}

/** A tab that takes a minute to load misses fewer steps on all but the busiest services. */
const MAX_STEPS = 256;

export function createStepLog(): StepLog {
  let position: string | undefined;
  let steps: StreamStep[] = [];
  return {
    get position() {
      return position;
    },
    add(step) {
      // Steps before lost events are useless, because lists are read again.
      if (step.isGap === true || step.after !== position) steps = [];
      steps.push(step);
      if (steps.length > MAX_STEPS) steps.shift();
      ({ position } = step);
    },
    restart(next) {
      steps = [];
      position = next;
    },
    findAfter(given) {
      if (given === position) return [];
      const index = steps.findIndex(({ after }) => after === given);
      return index < 0 ? undefined : steps.slice(index);
    },
  };
}
