import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ApiError } from '../../../src/platform/errors.ts';
import { PendingResponses, type Reservation } from '../../../src/platform/fairness/response-memory.ts';
import { createMetrics } from '../../../src/platform/metrics/metrics.ts';

const KIB = 1024;
const MAX_BYTES = 8 * 1024 * KIB;
const SHARE = MAX_BYTES / 8;

const create = () =>
  new PendingResponses({ maxBytes: MAX_BYTES, maxReceivedBytes: 512 * KIB }, createMetrics());

function codeOf(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return error instanceof ApiError ? error.code : String(error);
  }
}

function begun(pending: PendingResponses, account: string): Reservation {
  const reservation = pending.reservation();
  reservation.begin(account);
  return reservation;
}

/** Time that goes on only where the test says so. */
function stopTime(): void {
  vi.useFakeTimers({ toFake: ['performance', 'setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
}

/** A response that waits for a reader. */
function waiting(pending: PendingResponses, account: string, bytes: number, windowMs?: number) {
  const reservation = begun(pending, account);
  reservation.reserve(bytes);
  const reader = { left: bytes, cut: false };
  const end = reservation.waitFor({
    remaining: () => reader.left,
    windowMs,
    cutOff() {
      reader.cut = true;
      end();
    },
  });
  onTestFinished(end);
  return reader;
}

describe('answers that are being built or wait', () => {
  it('of one account hold an eighth of the whole at most: RATE_LIMITED past it, and others go on', () => {
    const pending = create();
    const first = begun(pending, 'a');
    first.reserve(SHARE - 100 * KIB);
    expect(codeOf(() => begun(pending, 'a').reserve(101 * KIB))).toBe('RATE_LIMITED');
    expect(codeOf(() => begun(pending, 'a').reserve(100 * KIB))).toBeUndefined();
    expect(codeOf(() => begun(pending, 'a'))).toBe('RATE_LIMITED');
    expect(codeOf(() => begun(pending, 'b').reserve(SHARE))).toBeUndefined();
    first.release();
    expect(codeOf(() => begun(pending, 'a').reserve(101 * KIB))).toBeUndefined();
  });

  it('that are small are not counted', () => {
    const pending = create();
    for (let i = 0; i < 1_000; i += 1) begun(pending, 'a').reserve(64 * KIB);
    expect(codeOf(() => begun(pending, 'a').reserve(SHARE))).toBeUndefined();
  });

  it('count what the database sends, which one operation may be sent four answers of', () => {
    const pending = create();
    const reservation = begun(pending, 'a');
    expect(reservation.receive(500 * KIB)).toBe('go on');
    expect(reservation.bytes).toBe(500 * KIB);
    expect(reservation.receive(513 * KIB)).toBe('stop');
    expect(reservation.rejection?.extensions).toEqual({
      code: 'COMPLEXITY_LIMIT',
      value: 513 * KIB,
      maximum: 512 * KIB,
    });
    const [other, third] = [begun(pending, 'a'), begun(pending, 'a')];
    expect(other.receive(500 * KIB)).toBe('go on');
    expect(third.receive(100 * KIB)).toBe('begin nothing more');
    expect(third.rejection?.code).toBe('RATE_LIMITED');
  });

  it('past the whole: SERVICE_UNAVAILABLE where no reader is slow', () => {
    const pending = create();
    for (const account of '12345678') begun(pending, account).reserve(SHARE);
    expect(codeOf(() => begun(pending, '9').reserve(65 * KIB))).toBe('SERVICE_UNAVAILABLE');
  });

  it('past the whole: the slowest reader is cut off, and no more of them than needed', () => {
    stopTime();
    const pending = create();
    const [still, slow, fast] = ['still', 'slow', 'fast'].map((name) => waiting(pending, name, SHARE));
    for (const account of '12345') begun(pending, account).reserve(SHARE);
    if (still === undefined || slow === undefined || fast === undefined) throw new Error('no reader');
    vi.advanceTimersByTime(300);
    slow.left -= 1;
    fast.left -= SHARE / 2;
    expect(codeOf(() => begun(pending, 'new').reserve(SHARE))).toBeUndefined();
    expect([still.cut, slow.cut, fast.cut]).toEqual([true, false, false]);
    expect(codeOf(() => begun(pending, 'newer').reserve(SHARE))).toBeUndefined();
    expect([slow.cut, fast.cut]).toEqual([true, false]);
    expect(codeOf(() => begun(pending, 'newest').reserve(SHARE))).toBe('SERVICE_UNAVAILABLE');
  });

  it('are cut off where their reader takes less than 256 KiB in its time, and not where it takes that', () => {
    stopTime();
    const pending = create();
    const stalled = waiting(pending, 'a', 600 * KIB, 300);
    const slow = waiting(pending, 'b', 600 * KIB, 300);
    const steady = waiting(pending, 'c', 900 * KIB, 300);
    slow.left -= 255 * KIB;
    steady.left -= 256 * KIB;
    vi.advanceTimersByTime(250);
    expect([stalled.cut, slow.cut, steady.cut]).toEqual([false, false, false]);
    vi.advanceTimersByTime(250);
    expect([stalled.cut, slow.cut, steady.cut]).toEqual([true, true, false]);
    vi.advanceTimersByTime(500);
    expect(steady.cut).toBe(true);
  });
});
