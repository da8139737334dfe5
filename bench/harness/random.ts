/** Draws a whole number from 0 to `max`. */
export type Draw = (max: number) => number;

/** The same numbers from the same seed, in every run (mulberry32). */
export function generator(seed: number): Draw {
  let state = seed;
  return (max) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % (max + 1);
  };
}

export const pick = <T>(draw: Draw, items: readonly [T, ...T[]]): T => items[draw(items.length - 1)] as T;
