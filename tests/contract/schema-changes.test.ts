import { describe, expect, it } from 'vitest';
import { brokenPromises } from '../../scripts/check-schema.ts';

const BEFORE = `type Query { a(x: Int): Int  old: Int @deprecated(reason: "Use a.")  b: Int }`;
const WITHOUT_OLD = 'type Query { a(x: Int): Int  b: Int }';
const report = (...samples: readonly string[]) =>
  ['# TYPE graphql_deprecated_uses_total counter', ...samples, ''].join('\n');
const used = (element: string, count: number) =>
  `graphql_deprecated_uses_total{element="${element}",client="1:user"} ${count}`;

describe('a change of the contract', () => {
  it.each([
    [
      'adds a field and an optional argument',
      'type Query { a(x: Int, y: Int): Int  old: Int  b: Int  c: Int }',
    ],
    ['deprecates', 'type Query { a(x: Int): Int @deprecated  old: Int  b: Int }'],
  ])('that %s breaks nothing', (_what, after) => {
    expect(brokenPromises(BEFORE, after)).toEqual([]);
  });

  it.each([
    ['removes a field', 'type Query { a(x: Int): Int  old: Int }'],
    ['removes an argument', 'type Query { a: Int  old: Int  b: Int }'],
    ['makes an argument required', 'type Query { a(x: Int!): Int  old: Int  b: Int }'],
    ['changes a type', 'type Query { a(x: Int): String  old: Int  b: Int }'],
  ])('that %s is refused, whatever the usage report says', (_what, after) => {
    expect(brokenPromises(BEFORE, after, report())).toHaveLength(1);
  });

  it('that removes a deprecated field takes a report that shows it unused', () => {
    expect(brokenPromises(BEFORE, WITHOUT_OLD)).toHaveLength(1);
    expect(brokenPromises(BEFORE, WITHOUT_OLD, 'no report at all')).toHaveLength(1);
    expect(brokenPromises(BEFORE, WITHOUT_OLD, report(used('Query.old', 2)))).toEqual([
      'Query.old was removed. It was deprecated, but was used 2 times.',
    ]);
    expect(brokenPromises(BEFORE, WITHOUT_OLD, report(used('Query.older', 2)))).toEqual([]);
    expect(brokenPromises(BEFORE, WITHOUT_OLD, report())).toEqual([]);
  });
});
