import { expect, it } from 'vitest';
import { TopNames } from '../../../src/platform/fairness/usage.ts';

const open = (most: number) => new TopNames<object>({ most, create: () => ({}) });
const keptBy = (names: TopNames<object>) => new Set([...names.entries()].map(([name]) => name));

function useOften(names: TopNames<object>, name: string, times: number): void {
  for (let time = 0; time < times; time += 1) names.use(name);
}

it('the first names are kept, each with a value of its own', () => {
  const names = open(2);
  expect(names.use('a')).toBe(names.use('a'));
  expect(names.use('b')).not.toBe(names.use('a'));
  expect(names.use('c')).toBeUndefined();
});

it('random names displace none, and are not kept', () => {
  const names = open(3);
  for (const name of ['a', 'b', 'c']) useOften(names, name, 50);
  for (let count = 0; count < 100_000; count += 1) names.use(`random${count}`);
  expect(keptBy(names)).toEqual(new Set(['a', 'b', 'c']));
});

it('frequent names replace random ones that came first', () => {
  const names = open(3);
  for (let count = 0; count < 3_000; count += 1) {
    names.use(`random${count}`);
    names.use(count % 2 === 0 ? 'a' : 'b');
  }
  expect(keptBy(names)).toContain('a');
  expect(keptBy(names)).toContain('b');
});

it('a name that is no longer used gives way to a frequent one', () => {
  const names = open(1);
  useOften(names, 'old', 10_000);
  useOften(names, 'new', 20_000);
  expect(keptBy(names)).toEqual(new Set(['new']));
});
