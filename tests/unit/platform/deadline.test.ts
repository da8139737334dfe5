import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createDeadline } from '../../../src/platform/deadline.ts';

describe('A deadline', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('calls back what is not taken off, each at its own time', () => {
    const deadline = createDeadline(1_000);
    const called: string[] = [];
    deadline.set(() => called.push('first'));
    vi.advanceTimersByTime(400);
    const off = deadline.set(() => called.push('second'));
    vi.advanceTimersByTime(400);
    deadline.set(() => called.push('third'));
    vi.advanceTimersByTime(199);
    expect(called).toEqual([]);
    vi.advanceTimersByTime(2);
    expect(called).toEqual(['first']);
    off();
    vi.advanceTimersByTime(790);
    expect(called).toEqual(['first']);
    vi.advanceTimersByTime(20);
    expect(called).toEqual(['first', 'third']);
  });

  it('goes on where what it calls sets another', () => {
    const deadline = createDeadline(1_000);
    let count = 0;
    const again = () => {
      count += 1;
      deadline.set(again);
    };
    again();
    vi.advanceTimersByTime(3_100);
    expect(count).toBe(4);
  });
});
