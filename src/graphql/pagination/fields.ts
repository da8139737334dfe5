import type { ArgBuilder } from '@pothos/core';
import type { Types } from '../builder.ts';
import { DEFAULT_LIMIT, MAX_LIMIT, MAX_OFFSET } from './arguments.ts';

export type ArgumentBuilder = ArgBuilder<Types>;

export const limitArgument = (arg: ArgumentBuilder) =>
  arg.int({
    description: `The maximum number of items to return: 0 to ${MAX_LIMIT}, ${DEFAULT_LIMIT} if absent or null.`,
  });

export const offsetArgument = (arg: ArgumentBuilder) =>
  arg.int({
    description: `How many items to skip: 0 to ${MAX_OFFSET}. Unstable while items are inserted; prefer a connection for long lists.`,
  });

/** The arguments of every connection. */
export const connectionArguments = (arg: ArgumentBuilder) => ({
  limit: limitArgument(arg),
  first: arg.int({ description: 'Relay’s name for `limit`. Give only one of the two.' }),
  after: arg.string({
    description: 'A cursor: only items after it are returned. Null starts at the beginning.',
  }),
  last: arg.int({
    description: `Pages backwards: the last items of the list or, with \`before\`, those just before it, in the order of the list. 0 to ${MAX_LIMIT}, ${DEFAULT_LIMIT} if only \`before\` is given. Not with \`first\` or \`limit\`.`,
  }),
  before: arg.string({
    description: 'A cursor: only items before it are returned. Null ends at the end. Not with `after`.',
  }),
});

/** The number of skipped items that cost as much as one field of an item. */
const SKIPPED_A_POINT = 10;

const within = (value: number, max: number) => Math.min(Math.max(value, 0), max);

/**
 * The cost of a field whose selection is read once per item (contract sections 5 and 9). Out-of-range
 * arguments count as the nearest allowed value; the resolver refuses them.
 */
export function listCost({
  limit,
  first,
  last,
  offset,
}: {
  limit?: number | null | undefined;
  first?: number | null | undefined;
  last?: number | null | undefined;
  offset?: number | null | undefined;
}) {
  return {
    field: 1 + Math.ceil(within(offset ?? 0, MAX_OFFSET) / SKIPPED_A_POINT),
    multiplier: within(limit ?? first ?? last ?? DEFAULT_LIMIT, MAX_LIMIT),
  };
}
