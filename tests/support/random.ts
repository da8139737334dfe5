import { createHash } from 'node:crypto';

/** Random numbers that can be had again from their seed (mulberry32). */
export interface Random {
  /** A whole number from 0 to `below` - 1. */
  below(below: number): number;
  pick<T>(items: readonly T[]): T;
}

export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    below,
    pick: (items) => {
      const item = items[below(items.length)];
      if (item === undefined) throw new Error('nothing to pick from');
      return item;
    },
  };
}

/**
 * Random numbers that PROPERTY_SEED and the label determine. Tasks that run at the same time need different labels:
 * otherwise their timing decides what each of them draws.
 */
export function seededRandom(label: string): Random {
  const text = `${process.env.PROPERTY_SEED ?? ''}\n${label}`;
  return randomFrom(createHash('sha256').update(text).digest().readUInt32BE());
}

/** A text that cannot be compressed. */
export const incompressible = (random: Random, length: number): string =>
  Array.from({ length }, () => String.fromCharCode(33 + random.below(90))).join('');
