import { onTestFinished, vi } from 'vitest';

/** What timers of this length would call, the newest last, until the test ends: it can be called early. They run as well. */
export function timersOf(milliseconds: number): readonly (() => void)[] {
  const { setTimeout: original } = globalThis;
  const callbacks: (() => void)[] = [];
  const spy = vi.spyOn(globalThis, 'setTimeout').mockImplementation(((callback: () => void, ms?: number) => {
    if (ms === milliseconds) callbacks.push(callback);
    return original(callback, ms);
  }) as typeof setTimeout);
  onTestFinished(() => spy.mockRestore());
  return callbacks;
}
