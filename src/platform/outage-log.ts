import type { Logger } from './log.ts';

const FIRST_REMINDER_MS = 5_000;
const LONGEST_REMINDER_MS = 60_000;

export type OutageLog = ReturnType<typeof createOutageLog>;

/**
 * Logs a lasting failure: at once, then at growing intervals, and once when it is over. `lost` and `back` are the
 * messages of the lines; without `back`, the end is not logged.
 */
export function createOutageLog(log: Logger, lost: string, back?: string) {
  let sinceMs: number | undefined;
  let nextMs = 0;
  let pauseMs = FIRST_REMINDER_MS;
  const seconds = (nowMs: number) => Math.round((nowMs - (sinceMs ?? nowMs)) / 1_000);
  return {
    /** Whether it goes on. */
    get lasting(): boolean {
      return sinceMs !== undefined;
    },
    /** An attempt has failed. Logs `fields` with how long it has lasted, unless that was said a moment ago. */
    failed(fields: Readonly<Record<string, unknown>>): void {
      const nowMs = performance.now();
      if (sinceMs === undefined) {
        sinceMs = nowMs;
        pauseMs = FIRST_REMINDER_MS;
        log.warn(fields, lost);
      } else if (nowMs >= nextMs) {
        log.warn({ ...fields, forSeconds: seconds(nowMs) }, lost);
        pauseMs = Math.min(2 * pauseMs, LONGEST_REMINDER_MS);
      } else return;
      nextMs = nowMs + pauseMs;
    },
    /** An attempt has succeeded. */
    over(): void {
      if (sinceMs === undefined) return;
      if (back !== undefined) log.info({ afterSeconds: seconds(performance.now()) }, back);
      sinceMs = undefined;
    },
  };
}
