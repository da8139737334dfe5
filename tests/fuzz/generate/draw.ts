import type { Random } from '../../support/random.ts';

/** True once in so many times. */
export const oneIn = (random: Random, times: number): boolean => random.below(times) === 0;

/** One of several things, of which some may be undefined. */
export const anyOf = <T>(random: Random, items: readonly [T, ...T[]]): T =>
  items[random.below(items.length)] as T;

/** One of several things, each as often as its weight says. */
export function weighted<T>(random: Random, choices: readonly (readonly [weight: number, item: T])[]): T {
  let left = random.below(choices.reduce((sum, [weight]) => sum + weight, 0));
  for (const [weight, item] of choices) {
    if (left < weight) return item;
    left -= weight;
  }
  throw new Error('nothing to choose from');
}

/** Two seeds made one: cases of neighbouring numbers have nothing in common. */
export function mixSeeds(a: number, b: number): number {
  let mixed = Math.imul(a ^ (a >>> 16), 0x45d9f3b) ^ Math.imul(b + 0x9e3779b9, 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d);
  return (mixed ^ (mixed >>> 13)) >>> 0;
}
