/** Time and chance. Tests replace it. */
export interface Clock {
  /** Milliseconds since the epoch. This clock runs while a machine sleeps, and timers do not. */
  nowMs(): number;
  /** A number from 0 to 1, as `Math.random` returns. */
  random(): number;
  /** Calls back after a delay. @returns a function that cancels the timer */
  setTimer(callback: () => void, delayMs: number): () => void;
  /** Resolves after a delay, or as soon as one of the signals is aborted. */
  sleep(delayMs: number, signals: readonly AbortSignal[]): Promise<void>;
}

/** The longest delay of a timer. A longer one would fire immediately. */
const MAX_TIMER_MS = 2 ** 31 - 1;

function setTimer(callback: () => void, delayMs: number): () => void {
  const timer = setTimeout(callback, Math.min(delayMs, MAX_TIMER_MS));
  return () => clearTimeout(timer);
}

/** The clock of the machine. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  random: () => Math.random(),
  setTimer,
  sleep(delayMs, signals) {
    return new Promise((resolve) => {
      const finish = () => {
        cancel();
        for (const signal of signals) signal.removeEventListener('abort', finish);
        resolve();
      };
      const cancel = setTimer(finish, delayMs);
      for (const signal of signals) signal.addEventListener('abort', finish);
      if (signals.some((signal) => signal.aborted)) finish();
    });
  },
};
