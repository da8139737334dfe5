import type { Case } from '../case.ts';
import type { Finding } from './trial.ts';
import { nameOf } from './ways.ts';

const indented = (text: string) => text.split('\n').join('\n            ');

const described = ({ document, variables, operationName, caller }: Case) => [
  `  caller    ${caller}`,
  `  document  ${indented(document)}`,
  `  as JSON   ${JSON.stringify(document)}`,
  `  variables ${variables === undefined ? 'none' : JSON.stringify(variables)}`,
  `  operation ${operationName === undefined ? 'not named' : JSON.stringify(operationName)}`,
];

/** A difference as it is printed, with the number of the first case of its service: how to have it again, what was sent, what should have come back and what came. */
export function reportOf(found: Finding, seed: number, number: number, first: number): string {
  const { test, way, kind, expected, got, other } = found;
  const told = other === undefined ? '' : `; expected is what comes of ${nameOf(other)}`;
  return [
    `Difference: ${kind}`,
    `  seed      ${seed}, case ${number}`,
    `  again     npm run test:fuzz -- --seed ${seed} --from ${number} --count 1`,
    `  or, if it differs only after others, with --from ${first} --count ${number - first + 1}`,
    `  way       ${nameOf(way)}${told}`,
    ...described(test),
    `  expected  ${expected}`,
    `  got       ${got}`,
  ].join('\n');
}
