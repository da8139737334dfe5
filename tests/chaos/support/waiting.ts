import { setTimeout as delay } from 'node:timers/promises';

/** Only ends a wait that is in vain. It is below the limit of a test, which would show no reason. */
const LIMIT_MS = 300_000;
const POLL_MS = 20;

/** Waits until nothing is missing. Throws after five minutes, with what still is. */
export async function waitFor(missing: () => string | undefined): Promise<void> {
  const deadlineMs = performance.now() + LIMIT_MS;
  for (;;) {
    const what = missing();
    if (what === undefined) return;
    if (performance.now() > deadlineMs)
      throw new Error(`after ${LIMIT_MS / 1000} s there is still missing: ${what}`);
    await delay(POLL_MS);
  }
}

/** What a promise comes to. Throws after five minutes, with what is missing. */
export async function inTime<T>(promise: Promise<T>, missing: () => string): Promise<T> {
  let settled = false;
  const watched = promise.finally(() => {
    settled = true;
  });
  await Promise.race([watched, waitFor(() => (settled ? undefined : missing()))]);
  return watched;
}
