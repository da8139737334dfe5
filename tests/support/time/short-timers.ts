import { onTestFinished, vi } from 'vitest';

const LONG_MS = 1_000;

/** For the rest of the test no timer of a second or more is ever due: nothing happens because something polls. */
export function onlyShortTimers(): void {
  const { setTimeout: original } = globalThis;
  const held = new Set<NodeJS.Timeout>();
  const spy = vi.spyOn(globalThis, 'setTimeout').mockImplementation(((
    callback: (...args: unknown[]) => void,
    ms = 0,
    ...args: unknown[]
  ) => {
    if (!(ms >= LONG_MS)) return original(callback, ms, ...args);
    const never = original(() => undefined, 2 ** 31 - 1).unref();
    held.add(never);
    return never;
  }) as typeof setTimeout);
  onTestFinished(() => {
    spy.mockRestore();
    for (const timer of held) clearTimeout(timer);
  });
}
