import { expect, it } from 'vitest';
import { createCredentialCache } from '../../../src/auth/secrets.ts';
import { steppedClock } from '../../support/time/stepped-clock.ts';

function cacheWithCount() {
  const clock = steppedClock();
  let lookups = 0;
  const cached = createCredentialCache<number>(clock);
  return { clock, find: (name = 'one') => cached(name, async () => (lookups += 1)) };
}

it('asks the database again after half a second, so that a revocation takes effect within a second', async () => {
  const { clock, find } = cacheWithCount();
  expect(await find()).toBe(1);
  clock.advance(499);
  expect(await find()).toBe(1);
  clock.advance(1);
  expect(await find()).toBe(2);
});

it('shares one look-up among concurrent callers of one name', async () => {
  const { find } = cacheWithCount();
  expect(await Promise.all([find(), find(), find('two')])).toEqual([1, 1, 2]);
});

it('does not cache a look-up that failed', async () => {
  const cached = createCredentialCache<string>(steppedClock());
  const failure = new Error('on purpose');
  await expect(cached('one', () => Promise.reject(failure))).rejects.toBe(failure);
  expect(await cached('one', async () => 'found')).toBe('found');
});
