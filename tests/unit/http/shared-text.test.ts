import { describe, expect, it } from 'vitest';
import { createThrottledText } from '../../../src/http/routes/metrics.ts';
import { steppedClock } from '../../support/time/stepped-clock.ts';

function make() {
  const clock = steppedClock();
  const made: string[] = [];
  const failing = { now: false };
  const text = createThrottledText(async () => {
    if (failing.now) throw new Error('no text');
    made.push(`text ${made.length}`);
    return made.at(-1) ?? '';
  }, clock);
  return { clock, made, failing, text };
}

describe('a text that costs much to make', () => {
  it('is of the moment for whoever asks now and then', async () => {
    const { clock, text } = make();
    for (let i = 0; i < 50; i += 1) {
      expect(await text()).toBe(`text ${i}`);
      clock.advance(100);
    }
  });

  it('is made ten times a second at most for those who flood, and never older than that', async () => {
    const { clock, made, text } = make();
    const ask = async () => {
      for (let i = 0; i < 300; i += 1) await text();
    };
    await ask();
    expect(made).toHaveLength(20);
    for (let tenth = 1; tenth <= 10; tenth += 1) {
      clock.advance(100);
      await ask();
      expect(made).toHaveLength(20 + tenth);
      expect(await text()).toBe(made.at(-1));
    }
  });

  it('is made once for those who ask at the same moment', async () => {
    const { made, text } = make();
    expect(await Promise.all(Array.from({ length: 300 }, text))).toEqual(Array(300).fill('text 0'));
    expect(made).toHaveLength(1);
  });

  it('is tried again when it could not be made', async () => {
    const { failing, text } = make();
    failing.now = true;
    await expect(text()).rejects.toThrow('no text');
    failing.now = false;
    expect(await text()).toBe('text 0');
  });
});
