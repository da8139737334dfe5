import type { GraphQLField } from 'graphql';
import { countedArgument } from '../../src/engine/core/field-options.ts';
import { permissionsOf, scopesForAll } from '../../src/engine/core/permissions.ts';

type Field = GraphQLField<unknown, unknown>;

interface Cost {
  readonly field: number;
  readonly multiplier: number;
}

/** What the complexity plugin reads from a field: a number, a cost, or a function of the arguments. */
type Complexity = number | Cost | ((args: object, context: object) => number | Cost) | undefined;

/** An offset by which the cost of skipping is measured. */
const SKIPPED = 1_000;

function costFor({ extensions }: Field, args: object): Cost {
  const { complexity = 1 } = extensions as { complexity?: Complexity };
  const cost = typeof complexity === 'function' ? complexity(args, {}) : complexity;
  return typeof cost === 'number' ? { field: cost, multiplier: 1 } : cost;
}

/**
 * The complexity of a field in words (contract: limits). Undefined for one that costs 1 and its selection once.
 * Which arguments count is read from the field's cost function, so that the words cannot differ from it.
 */
export function costOf(field: Field): string | undefined {
  const plain = costFor(field, {});
  const has = (name: string) => field.args.some((arg) => arg.name === name);
  const counted = countedArgument(field);
  if (counted !== undefined) return `${plain.field} + number of \`${counted}\` × selection`;
  const sized = ['limit', 'first'].filter(
    (name) => has(name) && costFor(field, { [name]: plain.multiplier + 1 }).multiplier !== plain.multiplier,
  );
  const skipping = has('offset') ? costFor(field, { offset: SKIPPED }).field - plain.field : 0;
  const own = skipping > 0 ? `${plain.field} + ⌈\`offset\` ÷ ${SKIPPED / skipping}⌉` : `${plain.field}`;
  if (sized.length > 0) return `${own} + \`${sized[0]}\` × selection`;
  return plain.multiplier === 1 && plain.field === 1 ? undefined : `${own} + ${plain.multiplier} × selection`;
}

/** What a caller needs for a field, in words. Undefined if nothing beyond what the fields around it need. */
export function scopeOf(field: Field): string | undefined {
  const { session, scopeForOwn, scopeForOthers } = permissionsOf(field);
  const needs = [
    ...scopesForAll(field).map((scope) => `\`${scope}\``),
    ...(session === true ? ['a [session](../guides/authentication.md#session)'] : []),
    ...(scopeForOwn === undefined ? [] : [`\`${scopeForOwn}\` for your own account`]),
    ...(scopeForOthers === undefined ? [] : [`\`${scopeForOthers}\` for other accounts`]),
  ];
  return needs.length === 0 ? undefined : needs.join(', ');
}
