import type { Case } from '../case.ts';
import type { Shrunk } from './shrink.ts';
import { nameOf } from './ways.ts';

const indented = (text: string) => text.split('\n').join('\n            ');

const described = ({ document, variables, operationName, caller }: Case) => [
  `  caller    ${caller}`,
  `  document  ${indented(document)}`,
  `  as JSON   ${JSON.stringify(document)}`,
  `  variables ${variables === undefined ? 'none' : JSON.stringify(variables)}`,
  `  operation ${operationName === undefined ? 'not named' : JSON.stringify(operationName)}`,
];

/** A difference as it is printed: how to have it again, what was sent, what should have come back and what came. */
export function reportOf(found: Shrunk, seed: number, number: number): string {
  const { test, way, kind, expected, got, before, other } = found;
  const alone = before?.length === 0;
  const cases = alone ? `--from ${number} --count 1` : `--count ${number + 1}`;
  const told = other === undefined ? '' : `; expected is what comes of ${nameOf(other)}`;
  return [
    `Difference: ${kind}`,
    `  seed      ${seed}, case ${number}${before === undefined ? '; it did not differ again' : ''}`,
    `  again     npm run test:fuzz -- --seed ${seed} ${cases}`,
    ...(before ?? []).flatMap((earlier) => [`  Before: ${nameOf(earlier.way)}`, ...described(earlier.test)]),
    `  way       ${nameOf(way)}${told}`,
    ...described(test),
    `  expected  ${expected}`,
    `  got       ${got}`,
  ].join('\n');
}
