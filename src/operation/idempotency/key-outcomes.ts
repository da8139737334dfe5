import { ApiError } from '../../graphql/errors.ts';
import type { Metrics } from '../../platform/metrics.ts';

/**
 * What became of a mutation with a key. `stored_…`: it ran, and its response was stored by the statement that wrote or in
 * its transaction. `not_stored`: it failed, so that it may run again. `replayed`: the stored response was sent; `waited`:
 * the same, after waiting for the first request. `reused`: refused, since the key belongs to another mutation.
 * `in_progress`: refused, since the first request took too long.
 */
const OUTCOMES = [
  'stored_statement',
  'stored_transaction',
  'not_stored',
  'replayed',
  'waited',
  'reused',
  'in_progress',
] as const;

/** Counts what became of mutations with a key, and makes the refusals. */
export function keyOutcomes(metrics: Metrics) {
  const tally = metrics.tally(
    'idempotency_requests_total',
    `Mutations with an Idempotency-Key by outcome: ${OUTCOMES.join(', ')}.`,
    ['outcome'],
  );
  for (const outcome of OUTCOMES) tally.add(outcome, '', 0);
  return {
    add: (outcome: (typeof OUTCOMES)[number]) => tally.add(outcome),
    reused(): ApiError {
      tally.add('reused');
      return new ApiError(
        'IDEMPOTENCY_KEY_REUSED',
        'This Idempotency-Key was used for another mutation or other variables.',
      );
    },
    inProgress(): ApiError {
      tally.add('in_progress');
      return new ApiError(
        'IDEMPOTENCY_IN_PROGRESS',
        'The first request with this Idempotency-Key is still running. Try again.',
        { headers: { 'retry-after': '1' } },
      );
    },
  };
}
