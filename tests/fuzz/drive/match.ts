import type { ExpectedError, NulledPlace } from '../../model/execution.ts';
import { MADE } from '../case.ts';
import type { ToldError } from './reading.ts';

const SHOWN_LENGTH = 400;

/** A value as a report shows it. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value, (_, item: unknown) => (item === MADE ? '<made>' : item)) ?? 'undefined';
  return text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text;
}

/** Where data differs from what is expected, the order of members included; undefined where it does not. */
export function dataMismatch(expected: unknown, actual: unknown, path = 'data'): string | undefined {
  const differs = `${path}: expected ${shown(expected)}, got ${shown(actual)}`;
  if (expected === MADE)
    return actual === null || (typeof actual === 'string' && actual !== '') ? undefined : differs;
  if (typeof expected !== 'object' || expected === null || typeof actual !== 'object' || actual === null)
    return Object.is(expected, actual) ? undefined : differs;
  if (Array.isArray(expected) !== Array.isArray(actual)) return differs;
  const [wanted, told] = [Object.keys(expected), Object.keys(actual)];
  if (wanted.length !== told.length || wanted.some((name, index) => name !== told[index]))
    return `${path}: expected the members ${shown(wanted)}, got ${shown(told)}`;
  for (const name of wanted) {
    const of = (value: object): unknown => Object.getOwnPropertyDescriptor(value, name)?.value;
    const found = dataMismatch(of(expected), of(actual), `${path}.${name}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Whether something that only the service knows is in what is expected. */
export function holdsMade(expected: unknown): boolean {
  if (expected === MADE) return true;
  return typeof expected === 'object' && expected !== null && Object.values(expected).some(holdsMade);
}

const isTold = (expected: ExpectedError, told: ToldError) =>
  expected.code === told.code &&
  JSON.stringify(expected.path) === JSON.stringify(told.path) &&
  (expected.argument === undefined || expected.argument === told.argument);

/** How errors differ from those that are expected, in any order; undefined where they do not. */
export function errorsMismatch(
  expected: readonly NulledPlace[],
  actual: readonly ToldError[],
): string | undefined {
  const left = [...expected];
  const strange = actual.filter((told) => {
    const index = left.findIndex(({ oneOf }) => oneOf.some((error) => isTold(error, told)));
    if (index >= 0) left.splice(index, 1);
    // What had failed beside it when a place became null may be told as well.
    return (
      index < 0 &&
      !expected.some(({ oneOf }) => oneOf.length > 1 && oneOf.some((error) => isTold(error, told)))
    );
  });
  const missing = left.filter(({ optional }) => !optional);
  if (strange.length === 0 && missing.length === 0) return undefined;
  return `unexpected: ${shown(strange)}; missing: ${shown(missing.map(({ oneOf }) => oneOf))}`;
}
