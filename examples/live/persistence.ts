import type { Failure, Refusal } from './service.ts';

/** Why something is not there, and when it is tried again. */
export type ConnectionError = (Failure & { readonly attempt: number; readonly waitMs: number }) | Refusal;

/** Exponential, with full jitter. Without valid credentials it is longer: such attempts have a limit of their own. */
function pauseBefore({ reason, retryAfterMs }: Failure, attempt: number, baseMs: number): number {
  const doubled = 2 ** (attempt - 1);
  if (retryAfterMs !== undefined) return retryAfterMs + Math.random() * baseMs;
  if (reason !== 'unauthenticated') return Math.min(30_000, baseMs * doubled) * Math.random();
  return Math.min(60_000, 5_000 * doubled) * (0.5 + Math.random() / 2);
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => resolve(clearTimeout(timer)));
  });
}

/** Repeats what fails, for a stream and for the lists that follow it. */
export function createPersistence() {
  let hurry = new AbortController();
  /** The service says how long to wait before reconnecting. */
  let baseMs = 1_000;
  return {
    setBase(ms: number): void {
      baseMs = ms || baseMs;
    },
    /** Until it succeeds, is refused or is no longer wanted. `reset` tells that it has succeeded meanwhile. */
    async persist<Result extends { readonly status: string }>(
      run: (reset: () => void) => Promise<Result | Failure>,
      signal: AbortSignal,
      onConnectionError: (error: ConnectionError) => void,
    ): Promise<Exclude<Result, Failure> | undefined> {
      let attempt = 0;
      while (!signal.aborted) {
        // Who is in a hurry during an attempt may know that it began with old credentials.
        const { signal: hurried } = hurry;
        const result = await run(() => {
          attempt = 0;
        });
        if (signal.aborted) break;
        if (!('reason' in result)) return result as Exclude<Result, Failure>;
        attempt += 1;
        const { retryAfterMs, ...failure } = result;
        const waitMs = Math.round(pauseBefore(result, attempt, baseMs));
        onConnectionError({ ...failure, attempt, waitMs });
        await pause(waitMs, retryAfterMs === undefined ? AbortSignal.any([signal, hurried]) : signal);
      }
      return undefined;
    },
    /** Waits until somebody hastens it, or a minute. */
    rest: (signal: AbortSignal) => pause(60_000, AbortSignal.any([signal, hurry.signal])),
    /** Ends the pauses, but for those that the service has asked for. */
    hasten(): void {
      hurry.abort();
      hurry = new AbortController();
    },
  };
}
